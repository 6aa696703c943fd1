// Says early, in one line, that a module is too large to run on this machine.
#ifndef MESHWRIGHT_CLI_HOST_MEMORY_H_
#define MESHWRIGHT_CLI_HOST_MEMORY_H_

#include "absl/status/status.h"
#include "meshwright/hlo/module.h"

namespace meshwright {

// kResourceExhausted when the entry's parameters alone exceed this machine's
// memory, where they are made before they go to a device.
absl::Status CheckParametersFit(const Module& module);

}  // namespace meshwright

#endif  // MESHWRIGHT_CLI_HOST_MEMORY_H_
