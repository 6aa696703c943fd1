// The folder of this user's caches.
#ifndef MESHWRIGHT_BASE_CACHE_FOLDER_H_
#define MESHWRIGHT_BASE_CACHE_FOLDER_H_

#include <string>

namespace meshwright {

// $XDG_CACHE_HOME/meshwright, or ~/.cache/meshwright; empty if there is no home
// either.
std::string CacheFolder();

}  // namespace meshwright

#endif  // MESHWRIGHT_BASE_CACHE_FOLDER_H_
