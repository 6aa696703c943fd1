#include "meshwright/runtime/collective_options.h"

#include <cstdlib>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace meshwright {
namespace {

OptionMap Wanted(absl::string_view platform) {
  if (platform == "cpu") {
    return {{"xla_disable_hlo_passes", "cpu-all-reduce-combiner"}};
  }
  if (platform == "cuda" || platform == "rocm" || platform == "gpu") {
    return {{"xla_gpu_enable_latency_hiding_scheduler", true}};
  }
  return {};
}

}  // namespace

OptionMap CollectiveOptions(absl::string_view platform) {
  OptionMap options = Wanted(platform);
  const char* flags = std::getenv("XLA_FLAGS");
  for (absl::string_view flag :
       absl::StrSplit(flags == nullptr ? "" : flags, ' ')) {
    while (absl::ConsumePrefix(&flag, "-")) {
    }
    options.erase(std::string(flag.substr(0, flag.find('='))));
  }
  return options;
}

std::string ToFlags(const OptionMap& options) {
  return absl::StrJoin(options, " ", [](std::string* out, const auto& option) {
    const auto& [name, value] = option;
    absl::StrAppend(out, "--", name, "=");
    if (const bool* is_on = std::get_if<bool>(&value)) {
      return absl::StrAppend(out, *is_on ? "true" : "false");
    }
    std::visit([&](const auto& given) { absl::StrAppend(out, given); }, value);
  });
}

bool CollectivesCrossProcesses(absl::string_view platform) {
  return platform == "cuda";
}

}  // namespace meshwright
