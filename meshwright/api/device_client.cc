#include "meshwright/api/device_client.h"

#include <utility>

#include "meshwright/base/status_macros.h"
#include "meshwright/engine/open_plugin.h"

namespace meshwright {

absl::StatusOr<std::unique_ptr<Client>> MakeClient(const std::string& platform,
                                                   int cpu_devices) {
  MW_ASSIGN_OR_RETURN(OpenedPlugin opened,
                      OpenPlugin(platform, {.cpu_devices = cpu_devices}));
  return std::move(opened.client);
}

}  // namespace meshwright
