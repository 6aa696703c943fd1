// The plug-in that a program runs on when its user names none.
#ifndef MESHWRIGHT_ENGINE_OPEN_PLUGIN_H_
#define MESHWRIGHT_ENGINE_OPEN_PLUGIN_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "meshwright/engine/client.h"
#include "meshwright/engine/plugin.h"

namespace meshwright {

struct OpenedPlugin {
  const Plugin* plugin = nullptr;
  std::unique_ptr<Client> client;
};

// The order in which plug-ins are tried: those that $MESHWRIGHT_PJRT_PLUGIN
// names, then accelerators, then the CPU; otherwise as FindPlugins has them.
std::vector<PluginFile> FastestFirst(std::vector<PluginFile> files);

// The plug-in whose name starts with `platform`, "cpu" or "cuda"; empty: the
// first of FastestFirst that has devices. An installed plug-in without its
// hardware is passed over, but not one that the user has named.
absl::StatusOr<OpenedPlugin> OpenPlugin(absl::string_view platform,
                                        const ClientOptions& options);

}  // namespace meshwright

#endif  // MESHWRIGHT_ENGINE_OPEN_PLUGIN_H_
