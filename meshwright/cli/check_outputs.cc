#include "meshwright/cli/check_outputs.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "meshwright/base/annotate.h"
#include "meshwright/base/output_target.h"
#include "meshwright/base/status_macros.h"

namespace meshwright {
namespace {

bool AreSame(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

absl::Status Lost(const std::string& flag, const std::string& path,
                  absl::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat("--", flag, " ", path, ": ", what));
}

// An input named on the command line: MODULE or --plan.
struct Input {
  std::string called;
  std::string path;
};

std::vector<Input> InputsOf(const CommandLine& line, const CommandSpec& spec) {
  std::vector<Input> inputs;
  for (size_t i = 0; i < line.positional_count(); ++i) {
    inputs.push_back({spec.positional[i], line.positional(i)});
  }
  for (const FlagSpec& flag : spec.flags) {
    if (flag.file != FileUse::kRead) continue;
    for (const std::string& value : line.All(flag.name)) {
      inputs.push_back({absl::StrCat("--", flag.name), value});
    }
  }
  return inputs;
}

absl::Status CheckLosesNothing(const std::string& flag, const std::string& path,
                               const OutputTarget& target,
                               const std::vector<Input>& inputs) {
  if (!target.is_regular()) return absl::OkStatus();
  struct stat other;
  if (::fstat(STDOUT_FILENO, &other) == 0 && AreSame(other, *target.info)) {
    return Lost(flag, path, "standard output goes to the same file");
  }
  for (const Input& input : inputs) {
    if (::stat(input.path.c_str(), &other) == 0 &&
        AreSame(other, *target.info)) {
      return Lost(flag, path,
                  absl::StrCat("is ", input.called,
                               " too, which would be lost; write elsewhere"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckOutputs(const CommandLine& line, const CommandSpec& spec) {
  const std::vector<Input> inputs = InputsOf(line, spec);
  std::map<std::string, std::string> flag_of_path;
  for (const FlagSpec& flag : spec.flags) {
    if (flag.file != FileUse::kWritten || !line.Has(flag.name)) continue;
    const std::string path = line.Text(flag.name, "");
    const absl::Status writable = CheckWritable(path);
    if (!writable.ok()) {
      return absl::Status(writable.code(), absl::StrCat("--", flag.name, " ",
                                                        writable.message()));
    }
    MW_ASSIGN_OR_RETURN(const OutputTarget target, FindTarget(path));
    MW_RETURN_IF_ERROR(CheckLosesNothing(flag.name, path, target, inputs));
    if (target.descriptor.has_value() || target.is_special()) continue;
    std::error_code error;
    const auto [other, is_first] = flag_of_path.try_emplace(
        std::filesystem::weakly_canonical(target.path, error).string(),
        flag.name);
    if (!is_first) {
      return Lost(flag.name, path,
                  absl::StrCat("is --", other->second, " too"));
    }
  }
  return absl::OkStatus();
}

}  // namespace meshwright
