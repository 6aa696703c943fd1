// Wires between threads of one process, for tests and for workers that are
// threads.
//
//   std::vector<std::unique_ptr<Wire>> wires =
//       MakeMemoryWires(4, absl::Seconds(5));   // One for each thread.
#ifndef MESHWRIGHT_WIRE_MEMORY_WIRE_H_
#define MESHWRIGHT_WIRE_MEMORY_WIRE_H_

#include <memory>
#include <vector>

#include "absl/time/time.h"
#include "meshwright/wire/wire.h"

namespace meshwright {

// Destroying a wire counts as the worker leaving.
std::vector<std::unique_ptr<Wire>> MakeMemoryWires(int count,
                                                   absl::Duration timeout);

}  // namespace meshwright

#endif  // MESHWRIGHT_WIRE_MEMORY_WIRE_H_
