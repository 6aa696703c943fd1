#include "meshwright/base/library_search.h"

#include <algorithm>
#include <cstdlib>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"

namespace meshwright {
namespace {

namespace fs = std::filesystem;

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool IsFolder(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

// Package folders of the Python environment installed at `root`.
void AddPackages(const fs::path& root, std::vector<std::string>& folders) {
  for (const fs::path& python : EntriesByNumber(root / "lib", "python3")) {
    for (const char* name : {"site-packages", "dist-packages"}) {
      if (IsFolder(python / name)) folders.push_back(python / name);
    }
  }
}

}  // namespace

std::vector<fs::path> EntriesByNumber(const fs::path& folder,
                                      absl::string_view prefix) {
  std::vector<fs::path> found;
  std::error_code ignored;
  for (fs::directory_iterator it(folder, ignored), end; it != end;
       it.increment(ignored)) {
    if (absl::StartsWith(it->path().filename().native(), prefix)) {
      found.push_back(it->path());
    }
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
    const auto& x = a.native();
    const auto& y = b.native();
    return x.size() != y.size() ? x.size() > y.size() : x > y;
  });
  return found;
}

std::string PackagesAround(const fs::path& program) {
  const fs::path package = program.parent_path().parent_path();
  std::error_code ignored;
  const bool is_package =
      program.has_parent_path() && fs::exists(package / "__init__.py", ignored);
  return is_package ? package.parent_path().native() : "";
}

LibrarySearch LibrarySearch::OfThisProcess() {
  LibrarySearch search;
  std::error_code ignored;
  const fs::path self = fs::read_symlink("/proc/self/exe", ignored);
  for (const absl::string_view folder :
       absl::StrSplit(Environment("PYTHONPATH"), ':', absl::SkipEmpty())) {
    search.packages.emplace_back(folder);
  }
  const std::string around = PackagesAround(self);
  if (!around.empty()) search.packages.push_back(around);
  for (const char* name : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    const std::string root = Environment(name);
    if (!root.empty()) AddPackages(root, search.packages);
  }
  if (!self.empty()) {
    const fs::path folder = self.parent_path();
    search.libraries = {folder, folder.parent_path() / "lib"};
    for (fs::path above = folder; above != above.root_path();
         above = above.parent_path()) {
      AddPackages(above / ".venv", search.packages);
    }
  }
  const std::string home = Environment("HOME");
  if (!home.empty()) AddPackages(fs::path(home) / ".local", search.packages);
  AddPackages("/usr/local", search.packages);
  AddPackages("/usr", search.packages);
  for (const fs::path& folder : EntriesByNumber("/opt", "")) {
    AddPackages(folder / ".venv", search.packages);
    AddPackages(folder, search.packages);
  }
  return search;
}

}  // namespace meshwright
