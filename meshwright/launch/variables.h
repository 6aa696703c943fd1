// Reads environment variables; errors name the variable.
#ifndef MESHWRIGHT_LAUNCH_VARIABLES_H_
#define MESHWRIGHT_LAUNCH_VARIABLES_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "meshwright/launch/environment.h"
#include "meshwright/launch/host_port.h"

namespace meshwright {

// nullopt if it is not set or empty.
std::optional<std::string> Variable(const Environment& environment,
                                    const char* name);

// A number from 0 to `max`; nullopt if it is not set. kInvalidArgument for
// anything else: "RANK is 'x', not a number".
absl::StatusOr<std::optional<int64_t>> IntegerVariable(
    const Environment& environment, const char* name, int64_t max);

// "HOST" or "HOST:PORT" in `name`, or its port in `port_name` (may be null), or
// `default_port`; nothing if `name` is not set.
absl::StatusOr<std::optional<HostPort>> AddressVariable(
    const Environment& environment, const char* name, const char* port_name,
    int default_port);

}  // namespace meshwright

#endif  // MESHWRIGHT_LAUNCH_VARIABLES_H_
