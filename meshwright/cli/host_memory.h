// Early one-line errors for a module or pipeline that is too large for this
// machine.
#ifndef MESHWRIGHT_CLI_HOST_MEMORY_H_
#define MESHWRIGHT_CLI_HOST_MEMORY_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "meshwright/hlo/module.h"

namespace meshwright {

// kResourceExhausted if the entry's parameters alone exceed this machine's
// memory, in which they are made before being sent to a device.
absl::Status CheckParametersFit(const Module& module);

// kResourceExhausted: "the parameters take 7.5 GiB, this machine has 4 GiB" for
// what is "the parameters take".
absl::Status CheckFits(int64_t bytes, absl::string_view what);

}  // namespace meshwright

#endif  // MESHWRIGHT_CLI_HOST_MEMORY_H_
