// How often a while loop runs, when the program says so.
//
//   i = 0; while (i < 5) { ...; i = i + 1 }   // 5
//   i = n; while (i > 0) ...                  // nullopt: n is not a constant
#ifndef MESHWRIGHT_HLO_TRIP_COUNT_H_
#define MESHWRIGHT_HLO_TRIP_COUNT_H_

#include <cstdint>
#include <optional>

#include "meshwright/hlo/instruction.h"

namespace meshwright {

// From the backend_config's known_trip_count; else from the pattern that JAX's
// scan and fori_loop lower to: the condition compares a carried integer with a
// constant (or a carried value that never changes), the body adds a constant
// to it, and it starts from a constant. Calls, copies, converts, tuples and
// broadcasts of scalars in between are looked through. Takes bounded time.
// Requires: `loop` is a while that passed Verify.
std::optional<int64_t> TripCount(const Instruction& loop);

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_TRIP_COUNT_H_
