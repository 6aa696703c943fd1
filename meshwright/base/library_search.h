// Folders in which shared libraries lie that come as Python wheels.
#ifndef MESHWRIGHT_BASE_LIBRARY_SEARCH_H_
#define MESHWRIGHT_BASE_LIBRARY_SEARCH_H_

#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace meshwright {

// Where to look, in this order.
struct LibrarySearch {
  // Folders that hold libraries directly: the executable's own, and "../lib"
  // from there (how `./mw dist` lays them out).
  std::vector<std::string> libraries;
  // Python package folders: $PYTHONPATH, $VIRTUAL_ENV, $CONDA_PREFIX, `.venv`
  // in a folder above the executable, the user's, the system's, /opt/*/.venv.
  std::vector<std::string> packages;

  static LibrarySearch OfThisProcess();
};

// Entries of a folder whose names start with `prefix`; names with larger
// numbers first.
std::vector<std::filesystem::path> EntriesByNumber(
    const std::filesystem::path& folder, absl::string_view prefix);

}  // namespace meshwright

#endif  // MESHWRIGHT_BASE_LIBRARY_SEARCH_H_
