#include "meshwright/cli/cache_flag.h"

#include "meshwright/runtime/compile_cache.h"

namespace meshwright {

FlagSpec CacheFlag() {
  return {"cache", "DIR",
          "keep compiled programs there (default ~/.cache/meshwright/"
          "programs; none: do not)"};
}

std::string CacheFolderOf(const CommandLine& line) {
  const std::string folder = line.Text("cache", CompileCache::DefaultFolder());
  return folder == "none" ? "" : folder;
}

std::vector<std::string> CacheWords(const CommandLine& line) {
  if (!line.Has("cache")) return {};
  return {"--cache", line.Text("cache", "")};
}

}  // namespace meshwright
