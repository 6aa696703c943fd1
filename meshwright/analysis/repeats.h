// Subsequences that repeat back to back (tandem repeats).
//
//   x a b c a b c a b c y   ->   {begin 1, period 3, count 3}
#ifndef MESHWRIGHT_ANALYSIS_REPEATS_H_
#define MESHWRIGHT_ANALYSIS_REPEATS_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace meshwright {

struct Repeat {
  int64_t begin = 0;
  int64_t period = 0;
  int64_t count = 0;  // At least 2.

  int64_t end() const { return begin + period * count; }
  bool operator==(const Repeat&) const = default;
};

// Non-overlapping repeats, in order. Longer ones take precedence, then shorter
// periods, then earlier ones. Finds every repeat of three or more copies, and
// those with two copies except some whose copies contain repeats. O(n log^2 n);
// values are compared by a 64-bit hash.
std::vector<Repeat> FindRepeats(absl::Span<const uint64_t> values);

}  // namespace meshwright

#endif  // MESHWRIGHT_ANALYSIS_REPEATS_H_
