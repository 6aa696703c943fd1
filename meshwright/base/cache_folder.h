// Where this user's caches are.
#ifndef MESHWRIGHT_BASE_CACHE_FOLDER_H_
#define MESHWRIGHT_BASE_CACHE_FOLDER_H_

#include <string>

namespace meshwright {

// $XDG_CACHE_HOME/meshwright, else ~/.cache/meshwright; empty if there is no
// home either.
std::string CacheFolder();

}  // namespace meshwright

#endif  // MESHWRIGHT_BASE_CACHE_FOLDER_H_
