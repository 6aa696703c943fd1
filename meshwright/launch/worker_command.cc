#include "meshwright/launch/worker_command.h"

#include "absl/strings/str_cat.h"

namespace meshwright {

std::vector<std::string> WorkerArguments(const WorkerCommand& command) {
  std::vector<std::string> words = {"worker", "--join", command.join};
  const auto add = [&](const char* flag, std::string value) {
    words.push_back(flag);
    words.push_back(std::move(value));
  };
  if (command.rank) add("--rank", absl::StrCat(*command.rank));
  if (command.devices) add("--devices", absl::StrCat(*command.devices));
  if (!command.platform.empty()) add("--platform", command.platform);
  return words;
}

}  // namespace meshwright
