// The trip count of a while loop, if it is known.
//
//   i = 0; while (i < 5) { ...; i = i + 1 }   // 5
//   i = n; while (i > 0) ...                  // nullopt: n is not a constant
#ifndef MESHWRIGHT_HLO_TRIP_COUNT_H_
#define MESHWRIGHT_HLO_TRIP_COUNT_H_

#include <cstdint>
#include <optional>

#include "meshwright/hlo/instruction.h"

namespace meshwright {

// From the backend_config's known_trip_count; otherwise from the pattern that
// JAX's scan and fori_loop lower to: the condition compares a loop-carried
// integer with a constant (or a loop-invariant value), the body adds a constant
// to it, and its initial value is a constant. Looks through calls, copies,
// converts, tuples and broadcasts of scalars. Takes bounded time. Requires:
// `loop` is a while that passed Verify.
std::optional<int64_t> TripCount(const Instruction& loop);

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_TRIP_COUNT_H_
