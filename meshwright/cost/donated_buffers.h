// Reuse of donated buffers: memory of arguments in which temporaries are placed
// until a result takes it over.
//
// The buffer of a weight that only a slice reads is free from then until the
// weight's next value is written; in between, temporaries can be placed there,
// one after the other.
#ifndef MESHWRIGHT_COST_DONATED_BUFFERS_H_
#define MESHWRIGHT_COST_DONATED_BUFFERS_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace meshwright {

// Free after kernel `after` and before kernel `before`.
struct DonatedBuffer {
  int64_t bytes = 0;
  int32_t after = 0;
  int32_t before = 0;
};

// Written by kernel `from`, last read by kernel `until`.
struct PlacedValue {
  int64_t bytes = 0;
  int32_t from = 0;
  int32_t until = 0;
};

// By value: whether it is placed in a donated buffer. Best fit: the largest
// value first, each in the smallest buffer that is free during its lifetime, as
// XLA's buffer assignment does.
std::vector<bool> FillDonated(std::vector<DonatedBuffer> places,
                              absl::Span<const PlacedValue> values);

}  // namespace meshwright

#endif  // MESHWRIGHT_COST_DONATED_BUFFERS_H_
