#include "meshwright/launch/ray_command.h"

#include "absl/strings/str_cat.h"
#include "meshwright/launch/variables.h"

namespace meshwright {

std::vector<std::string> RayCommand(const RayOptions& options,
                                    const Environment& environment) {
  std::string python = "python3";
  if (const auto named = Variable(environment, "MESHWRIGHT_PYTHON")) {
    python = *named;
  } else if (const auto venv = Variable(environment, "VIRTUAL_ENV")) {
    python = *venv + "/bin/python";
  }
  std::vector<std::string> words = {
      python,          "-m",        "meshwright.launch_ray",      "--address",
      options.address, "--workers", absl::StrCat(options.workers)};
  if (options.gpus > 0) {
    words.insert(words.end(), {"--gpus", absl::StrCat(options.gpus)});
  }
  for (const auto& [name, value] : options.environment) {
    words.insert(words.end(), {"--env", absl::StrCat(name, "=", value)});
  }
  words.push_back("--");
  words.insert(words.end(), options.argv.begin(), options.argv.end());
  return words;
}

}  // namespace meshwright
