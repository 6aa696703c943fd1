// Checkpoints of `meshwright run`: saved in the background while steps run, and
// resumed from.
#ifndef MESHWRIGHT_CLI_RUN_CHECKPOINTS_H_
#define MESHWRIGHT_CLI_RUN_CHECKPOINTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "meshwright/cli/command_line.h"
#include "meshwright/runtime/runner.h"

namespace meshwright {

class RunCheckpoints {
 public:
  static std::vector<FlagSpec> Flags();
  // Creates the folder if one is given. kInvalidArgument for flags that need
  // it.
  static absl::StatusOr<RunCheckpoints> From(const CommandLine& line);

  // The number of the first step that is to be run.
  absl::StatusOr<int64_t> Resume(Runner& runner);
  // The position in the dataset of the resumed state.
  std::optional<int64_t> position() const { return position_; }
  // At least 1.
  int64_t StepsUntilSave(int64_t step) const;
  // `step`: how many were run. Failures are printed on stderr; steps continue.
  void AfterSteps(int64_t step, Runner& runner);
  // Saves the last state, and waits.
  absl::Status Finish(int64_t step, Runner& runner);

 private:
  absl::Status Save(int64_t step, bool in_background, Runner& runner);
  // Prints the error of the last save, if it failed.
  void Tell(const absl::Status& saved) const;

  std::string directory_;  // Empty: none.
  int64_t every_ = 0;      // 0: only the last state.
  int64_t keep_ = 0;
  bool is_resumed_ = false;
  std::string extra_ = "{}";  // What every checkpoint records.
  int64_t last_ = -1;         // The last one saved, or being saved.
  std::optional<int64_t> position_ = std::nullopt;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_CLI_RUN_CHECKPOINTS_H_
