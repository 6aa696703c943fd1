#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "meshwright/base/library_search.h"
#include "meshwright/engine/plugin.h"

namespace meshwright {
namespace {

namespace fs = std::filesystem;

constexpr const char* kCpuFile = "xla_cpu_pjrt.so";
constexpr const char* kCudaFile = "xla_cuda_plugin.so";
constexpr const char* kTpuFile = "libtpu.so";

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool IsFile(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

std::string NameOf(const fs::path& path) {
  const std::string stem = path.stem();
  const std::string folder = path.parent_path().filename();
  if (absl::StrContains(stem, "cpu")) return "cpu";
  if (path.filename() == kTpuFile) return "tpu";
  if (path.filename() == kCudaFile) {
    const absl::string_view version = absl::StripPrefix(folder, "xla_");
    return absl::StartsWith(version, "cuda") ? std::string(version) : "cuda";
  }
  return std::string(absl::StripPrefix(stem, "lib"));
}

void AddNamed(absl::string_view named, std::vector<PluginFile>& found) {
  for (const absl::string_view entry :
       absl::StrSplit(named, ':', absl::SkipWhitespace())) {
    const size_t equals = entry.find('=');
    if (equals == absl::string_view::npos) {
      found.push_back(
          {NameOf(fs::path(std::string(entry))), std::string(entry)});
    } else {
      found.push_back({std::string(entry.substr(0, equals)),
                       std::string(entry.substr(equals + 1))});
    }
  }
}

// All candidates of one kind, in order of preference.
std::vector<fs::path> Candidates(const PluginSearch& search,
                                 const std::string& file) {
  std::vector<fs::path> paths;
  for (const std::string& folder : search.libraries) {
    paths.push_back(fs::path(folder) / file);
  }
  for (const std::string& packages : search.packages) {
    const fs::path root(packages);
    if (file == kCpuFile) {
      paths.push_back(root / "xla_plugins" / "xla_cpu_pjrt" / file);
    } else if (file == kTpuFile) {
      paths.push_back(root / "libtpu" / file);
    } else {
      for (const fs::path& cuda :
           EntriesByNumber(root / "jax_plugins", "xla_cuda")) {
        paths.push_back(cuda / file);
      }
    }
  }
  return paths;
}

}  // namespace

PluginSearch PluginSearch::OfThisProcess() {
  LibrarySearch search = LibrarySearch::OfThisProcess();
  return {.named = Environment("MESHWRIGHT_PJRT_PLUGIN"),
          .libraries = std::move(search.libraries),
          .packages = std::move(search.packages)};
}

std::vector<PluginFile> FindPlugins(const PluginSearch& search) {
  std::vector<PluginFile> found;
  AddNamed(search.named, found);
  for (PluginFile& file : found) file.is_named = true;
  for (const std::string file : {kCpuFile, kCudaFile, kTpuFile}) {
    for (const fs::path& path : Candidates(search, file)) {
      if (IsFile(path)) found.push_back({NameOf(path), path});
    }
  }
  std::vector<PluginFile> unique;
  for (PluginFile& file : found) {
    const bool seen = std::any_of(
        unique.begin(), unique.end(),
        [&](const PluginFile& other) { return other.name == file.name; });
    if (!seen) unique.push_back(std::move(file));
  }
  return unique;
}

absl::StatusOr<PluginFile> FindPlugin(absl::string_view name) {
  const PluginSearch search = PluginSearch::OfThisProcess();
  for (const PluginFile& file : FindPlugins(search)) {
    if (absl::StartsWith(file.name, name)) return file;
  }
  return absl::NotFoundError(absl::StrCat(
      "no PJRT plug-in", name.empty() ? "" : " named ", name,
      " found; set MESHWRIGHT_PJRT_PLUGIN=/path/to/plugin.so (looked in ",
      absl::StrJoin(search.libraries, ", "), " and the Python packages in ",
      absl::StrJoin(search.packages, ", "), ")"));
}

}  // namespace meshwright
