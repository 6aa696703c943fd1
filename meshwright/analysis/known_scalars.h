// What arithmetic makes of known integers, and which integers in a loop's body
// follow from the iteration number.
//
//   IntegerResult(remainder, {7, 4})  ->  3
//   i = 3, 4, 5, ...    select(n - i < 0, 2 * n - i, n - i)    // known, too
#ifndef MESHWRIGHT_ANALYSIS_KNOWN_SCALARS_H_
#define MESHWRIGHT_ANALYSIS_KNOWN_SCALARS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "meshwright/hlo/instruction.h"

namespace meshwright {

// A scalar integer (or pred) constant's value.
std::optional<int64_t> ScalarConstant(const Instruction& instruction);

// An element of the result of an op, computed from the elements `operands` at
// the same place, integers or preds. nullopt for an op that is no such
// arithmetic, for a division by 0, and if the op's type cannot represent the
// result, which would wrap. Requires: as many as the op has.
std::optional<int64_t> IntegerResult(const Instruction& op,
                                     absl::Span<const int64_t> operands);

// Values of scalars in one iteration.
class KnownScalars {
 public:
  // `carried`: by element of the body's tuple, its value in this iteration if
  // known.
  KnownScalars(const Instruction& parameter,
               const std::vector<std::optional<int64_t>>& carried)
      : parameter_(parameter), carried_(carried) {}

  // nullopt if it depends on something unknown, or would overflow.
  std::optional<int64_t> Of(const Instruction& instruction);

 private:
  std::optional<int64_t> Work(const Instruction& instruction);

  const Instruction& parameter_;
  const std::vector<std::optional<int64_t>>& carried_;
  absl::flat_hash_map<int32_t, std::optional<int64_t>> memo_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_ANALYSIS_KNOWN_SCALARS_H_
