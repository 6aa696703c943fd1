#include "meshwright/solve/highs_api.h"

#include <dlfcn.h>

#include <filesystem>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "meshwright/base/status_macros.h"

namespace meshwright {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFile = "libhighs.so.1";
// As in python/requirements-runtime.txt: other versions may give other results.
constexpr const char* kVersion = "1.15.1";

template <typename Function>
absl::Status Find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (function != nullptr) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat("has no ", name));
}

absl::StatusOr<HighsApi> Open(const std::string& path) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* reason = dlerror();
    return absl::UnavailableError(absl::StrCat(
        "cannot be loaded: ", reason == nullptr ? "unknown reason" : reason));
  }
  HighsApi api{.path = path};
  MW_RETURN_IF_ERROR(Find(library, "Highs_version", api.Version));
  if (std::string(api.Version()) != kVersion) {
    return absl::UnavailableError(
        absl::StrCat("is version ", api.Version(), ", not ", kVersion));
  }
  MW_RETURN_IF_ERROR(Find(library, "Highs_create", api.Create));
  MW_RETURN_IF_ERROR(Find(library, "Highs_destroy", api.Destroy));
  MW_RETURN_IF_ERROR(Find(library, "Highs_setBoolOptionValue", api.SetBool));
  MW_RETURN_IF_ERROR(Find(library, "Highs_setIntOptionValue", api.SetInt));
  MW_RETURN_IF_ERROR(
      Find(library, "Highs_setDoubleOptionValue", api.SetDouble));
  MW_RETURN_IF_ERROR(
      Find(library, "Highs_setStringOptionValue", api.SetString));
  MW_RETURN_IF_ERROR(Find(library, "Highs_passMip", api.PassMip));
  MW_RETURN_IF_ERROR(Find(library, "Highs_setSolution", api.SetSolution));
  MW_RETURN_IF_ERROR(Find(library, "Highs_setCallback", api.SetCallback));
  MW_RETURN_IF_ERROR(Find(library, "Highs_startCallback", api.StartCallback));
  MW_RETURN_IF_ERROR(
      Find(library, "Highs_getCallbackDataOutItem", api.GetCallbackItem));
  MW_RETURN_IF_ERROR(Find(library, "Highs_run", api.Run));
  MW_RETURN_IF_ERROR(Find(library, "Highs_getModelStatus", api.GetModelStatus));
  MW_RETURN_IF_ERROR(Find(library, "Highs_getSolution", api.GetSolution));
  MW_RETURN_IF_ERROR(Find(library, "Highs_getIntInfoValue", api.GetIntInfo));
  MW_RETURN_IF_ERROR(
      Find(library, "Highs_getInt64InfoValue", api.GetInt64Info));
  MW_RETURN_IF_ERROR(
      Find(library, "Highs_getDoubleInfoValue", api.GetDoubleInfo));
  return api;
}

}  // namespace

absl::StatusOr<HighsApi> LoadHighs(const LibrarySearch& search) {
  std::vector<fs::path> paths;
  for (const std::string& folder : search.libraries) {
    paths.push_back(fs::path(folder) / kFile);
  }
  for (const std::string& packages : search.packages) {
    paths.push_back(fs::path(packages) / "highspy" / kFile);
  }
  std::vector<std::string> wrong;
  for (const fs::path& path : paths) {
    std::error_code ignored;
    if (!fs::is_regular_file(path, ignored)) continue;
    absl::StatusOr<HighsApi> api = Open(path);
    if (api.ok()) return api;
    wrong.push_back(
        absl::StrCat("; ", path.native(), " ", api.status().message()));
  }
  return absl::UnavailableError(absl::StrCat(
      "no HiGHS ", kVersion, " found: pip install highspy==", kVersion,
      " (looked for ", kFile, " in ", absl::StrJoin(search.libraries, ", "),
      " and the Python packages in ", absl::StrJoin(search.packages, ", "), ")",
      absl::StrJoin(wrong, "")));
}

const absl::StatusOr<HighsApi>& Highs() {
  static const auto* const api =
      new absl::StatusOr<HighsApi>(LoadHighs(LibrarySearch::OfThisProcess()));
  return *api;
}

}  // namespace meshwright
