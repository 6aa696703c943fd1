// Folders in which shared libraries from Python wheels are looked for.
#ifndef MESHWRIGHT_BASE_LIBRARY_SEARCH_H_
#define MESHWRIGHT_BASE_LIBRARY_SEARCH_H_

#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace meshwright {

// Where to look, in this order.
struct LibrarySearch {
  // Folders that contain libraries directly: the executable's own, and "../lib"
  // relative to it (the layout of `./mw dist`).
  std::vector<std::string> libraries;
  // Python package folders: $PYTHONPATH, the one in which the executable is
  // installed, $VIRTUAL_ENV, $CONDA_PREFIX, `.venv` in a folder above the
  // executable, the user's, the system's, /opt/*/.venv.
  std::vector<std::string> packages;

  static LibrarySearch OfThisProcess();
};

// The packages folder in which `program` is installed as part of a package (the
// layout of `./mw wheel`: site-packages/meshwright/bin/meshwright); otherwise
// "".
std::string PackagesAround(const std::filesystem::path& program);

// Entries of a folder whose names start with `prefix`; names with larger
// numbers first.
std::vector<std::filesystem::path> EntriesByNumber(
    const std::filesystem::path& folder, absl::string_view prefix);

}  // namespace meshwright

#endif  // MESHWRIGHT_BASE_LIBRARY_SEARCH_H_
