// Arguments whose memory other values use until a result takes it.
//
// A weight that only a slice reads is free from then until its next value is
// written; in between, other values lie there, one after the other.
#ifndef MESHWRIGHT_COST_FREE_PLACES_H_
#define MESHWRIGHT_COST_FREE_PLACES_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace meshwright {

// Free after kernel `after` and before kernel `before`.
struct FreePlace {
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

// Whether each value has a place: the largest first, each in the smallest place
// where no other is meanwhile, as XLA assigns memory.
std::vector<bool> FillPlaces(std::vector<FreePlace> places,
                             absl::Span<const PlacedValue> values);

}  // namespace meshwright

#endif  // MESHWRIGHT_COST_FREE_PLACES_H_
