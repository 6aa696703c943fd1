#include "meshwright/api/device_client.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/engine/plugin.h"

namespace meshwright {
namespace {

absl::StatusOr<std::unique_ptr<Client>> Open(const PluginFile& file,
                                             int cpu_devices) {
  MW_ASSIGN_OR_RETURN(const Plugin* plugin, Plugin::Load(file));
  return plugin->CreateClient({.cpu_devices = cpu_devices});
}

}  // namespace

absl::StatusOr<std::unique_ptr<Client>> MakeClient(const std::string& platform,
                                                   int cpu_devices) {
  if (!platform.empty()) {
    MW_ASSIGN_OR_RETURN(const PluginFile file, FindPlugin(platform));
    return Open(file, cpu_devices);
  }
  std::vector<PluginFile> files = FindPlugins(PluginSearch::OfThisProcess());
  std::stable_partition(files.begin(), files.end(), [](const PluginFile& file) {
    return file.name != "cpu";
  });
  for (const PluginFile& file : files) {
    auto client = Open(file, cpu_devices);
    // An installed plug-in without its hardware is no reason to stop; one that
    // the user has named is not replaced by another.
    if (client.ok() || file.is_named || &file == &files.back()) return client;
  }
  return FindPlugin("").status();
}

}  // namespace meshwright
