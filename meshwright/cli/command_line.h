// The arguments of a command: flags, switches and positional arguments.
//
//   const CommandSpec spec = {.name = "run", .positional = {"MODULE"},
//                             .flags = {{"steps", "K", "how many steps"}}};
//   MW_ASSIGN_OR_RETURN(CommandLine line, CommandLine::Parse(words, spec));
//   MW_ASSIGN_OR_RETURN(int64_t steps, line.Integer("steps", 10, {1, 1000}));
//
// `--steps 5` and `--steps=5` are the same; a flag may be given several times.
#ifndef MESHWRIGHT_CLI_COMMAND_LINE_H_
#define MESHWRIGHT_CLI_COMMAND_LINE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace meshwright {

// How the command uses the file that a flag's value names, if it names one.
enum class FileUse {
  kRead,
  // Read completely before anything is written, so that it may also be an
  // output.
  kReadBefore,
  kWritten,  // Checked before the command begins (check_outputs.h).
};

struct FlagSpec {
  std::string name;
  std::string value;  // The name of the value in the help; empty for a switch.
  std::string help;
  FileUse file = FileUse::kRead;
};

struct CommandSpec {
  std::string name;
  std::string summary;
  std::vector<std::string> positional;  // "[NAME]" may be left out.
  std::vector<FlagSpec> flags;

  // Usage, a line per flag.
  std::string Help() const;
};

struct IntegerRange {
  int64_t min;
  int64_t max;
};

class CommandLine {
 public:
  // kInvalidArgument for arguments that do not fit the spec, naming the word
  // and the most similar flag.
  static absl::StatusOr<CommandLine> Parse(absl::Span<const std::string> words,
                                           const CommandSpec& spec);

  const std::string& positional(size_t index) const {
    return positional_[index];
  }
  size_t positional_count() const { return positional_.size(); }
  bool Has(const std::string& flag) const { return flags_.contains(flag); }
  // kInvalidArgument if both were given.
  absl::Status CheckNotBoth(const std::string& flag,
                            const std::string& other) const;
  // Every value of a repeated flag, in order.
  std::vector<std::string> All(const std::string& flag) const;
  // The last value, or `fallback`.
  std::string Text(const std::string& flag, absl::string_view fallback) const;
  // The last value, if it was given.
  std::optional<std::string> Optional(const std::string& flag) const;
  absl::StatusOr<int64_t> Integer(const std::string& flag, int64_t fallback,
                                  IntegerRange range) const;

 private:
  std::vector<std::string> positional_;
  std::map<std::string, std::vector<std::string>> flags_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_CLI_COMMAND_LINE_H_
