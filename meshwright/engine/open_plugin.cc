#include "meshwright/engine/open_plugin.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "meshwright/base/status_macros.h"

namespace meshwright {
namespace {

absl::StatusOr<OpenedPlugin> Open(const PluginFile& file,
                                  const ClientOptions& options) {
  MW_ASSIGN_OR_RETURN(const Plugin* plugin, Plugin::Load(file));
  MW_ASSIGN_OR_RETURN(std::unique_ptr<Client> client,
                      plugin->CreateClient(options));
  return OpenedPlugin{.plugin = plugin, .client = std::move(client)};
}

}  // namespace

std::vector<PluginFile> FastestFirst(std::vector<PluginFile> files) {
  std::stable_partition(files.begin(), files.end(), [](const PluginFile& file) {
    return file.is_named || file.name != "cpu";
  });
  return files;
}

absl::StatusOr<OpenedPlugin> OpenPlugin(absl::string_view platform,
                                        const ClientOptions& options) {
  if (!platform.empty()) {
    MW_ASSIGN_OR_RETURN(const PluginFile file, FindPlugin(platform));
    return Open(file, options);
  }
  const std::vector<PluginFile> files =
      FastestFirst(FindPlugins(PluginSearch::OfThisProcess()));
  for (const PluginFile& file : files) {
    auto opened = Open(file, options);
    if (opened.ok() || file.is_named || &file == &files.back()) return opened;
  }
  return FindPlugin("").status();
}

}  // namespace meshwright
