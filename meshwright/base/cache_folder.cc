#include "meshwright/base/cache_folder.h"

#include <cstdlib>

namespace meshwright {
namespace {

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

std::string CacheFolder() {
  if (const std::string cache = Variable("XDG_CACHE_HOME"); !cache.empty()) {
    return cache + "/meshwright";
  }
  const std::string home = Variable("HOME");
  return home.empty() ? "" : home + "/.cache/meshwright";
}

}  // namespace meshwright
