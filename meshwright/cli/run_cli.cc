#include <algorithm>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "meshwright/base/nearest_word.h"
#include "meshwright/base/standard_output.h"
#include "meshwright/base/terminal.h"
#include "meshwright/base/version.h"
#include "meshwright/cli/check_outputs.h"
#include "meshwright/cli/commands.h"

namespace meshwright {
namespace {

constexpr const Command* kCommands[] = {
    &kDevicesCommand, &kInspectCommand, &kRunCommand,        &kPartitionCommand,
    &kPlanCommand,    &kExplainCommand, &kSimulateCommand,   &kCheckCommand,
    &kProfileCommand, &kSolveCommand,   &kDemoCommand,       &kServeCommand,
    &kWorkerCommand,  &kLaunchCommand,  &kCheckpointCommand, &kScaleCommand};

void PrintHelp(std::FILE* file) {
  absl::FPrintF(file,
                "meshwright %s: runs a training step, given as HLO, on XLA "
                "devices\n\nusage: meshwright COMMAND ...\n",
                Version());
  for (const Command* command : kCommands) {
    absl::FPrintF(file, "\n  %-10s %s", command->spec().name,
                  command->spec().summary);
  }
  absl::FPrintF(file, "\n\n`meshwright COMMAND --help` says more.\n");
}

int ExitCode(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return 0;
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kAlreadyExists:
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kUnauthenticated:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kOutOfRange:
    case absl::StatusCode::kResourceExhausted:
      return 2;
    case absl::StatusCode::kUnavailable:
      return 3;
    default:
      return 1;
  }
}

// One line of a length that can be read, even if a plug-in or a file put line
// breaks, control characters or thousands of characters into the message.
std::string ErrorLine(absl::string_view message) {
  constexpr int kHead = 1000;
  constexpr size_t kTail = 200;
  const std::string flat =
      absl::StrReplaceAll(message, {{"\n", " "}, {"\r", " "}});
  std::string line = TruncateToColumns(flat, kHead);
  if (flat.size() <= line.size() + kTail) {
    return TruncateToColumns(flat, static_cast<int>(flat.size()));
  }
  const std::string tail = flat.substr(flat.size() - kTail);
  return absl::StrCat(line, " ... ",
                      TruncateToColumns(tail, static_cast<int>(kTail)));
}

// Failing to write the output is a failure, too.
int Report(absl::string_view command, absl::Status status) {
  status.Update(FlushStandardOutput());
  if (!status.ok()) {
    absl::FPrintF(stderr, "meshwright%s%s: %s\n", command.empty() ? "" : " ",
                  command, ErrorLine(status.message()));
  }
  return ExitCode(status);
}

absl::Status UnknownCommand(const std::string& name) {
  std::vector<std::string> names;
  for (const Command* command : kCommands) {
    names.push_back(command->spec().name);
  }
  const std::string nearest = NearestWord(name, names);
  return absl::InvalidArgumentError(absl::StrCat(
      "unknown command \"", name, "\"; ",
      nearest.empty() ? "`meshwright --help` lists them"
                      : absl::StrCat("did you mean ", nearest, "?")));
}

bool AsksForHelp(const std::string& word) {
  return word == "--help" || word == "-h" || word == "help";
}

}  // namespace

int RunCli(absl::Span<const std::string> words) {
  if (words.empty()) {
    PrintHelp(stderr);
    return 2;
  }
  if (AsksForHelp(words[0])) {
    PrintHelp(stdout);
    return Report("", absl::OkStatus());
  }
  if (words[0] == "--version") {
    absl::PrintF("meshwright %s\n", Version());
    return Report("", absl::OkStatus());
  }
  for (const Command* command : kCommands) {
    const CommandSpec& spec = command->spec();
    if (spec.name != words[0]) continue;
    const absl::Span<const std::string> rest = words.subspan(1);
    if ((!rest.empty() && AsksForHelp(rest[0])) ||
        std::find(rest.begin(), rest.end(), "--help") != rest.end()) {
      absl::PrintF("%s", spec.Help());
      return Report(spec.name, absl::OkStatus());
    }
    const auto line = CommandLine::Parse(rest, spec);
    if (!line.ok()) return Report(spec.name, line.status());
    if (const absl::Status outputs = CheckOutputs(*line, spec); !outputs.ok()) {
      return Report(spec.name, outputs);
    }
    return Report(spec.name, command->run(*line));
  }
  return Report("", UnknownCommand(words[0]));
}

}  // namespace meshwright
