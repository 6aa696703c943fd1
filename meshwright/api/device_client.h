// The PJRT client that a command runs on: of the plug-in that the user named,
// or the first.
#ifndef MESHWRIGHT_API_DEVICE_CLIENT_H_
#define MESHWRIGHT_API_DEVICE_CLIENT_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "meshwright/engine/client.h"

namespace meshwright {

// `platform` is as in OpenPlugin (engine/open_plugin.h).
absl::StatusOr<std::unique_ptr<Client>> MakeClient(const std::string& platform,
                                                   int cpu_devices);

}  // namespace meshwright

#endif  // MESHWRIGHT_API_DEVICE_CLIENT_H_
