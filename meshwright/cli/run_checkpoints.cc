#include "meshwright/cli/run_checkpoints.h"

#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "meshwright/base/annotate.h"
#include "meshwright/base/file.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/checkpoint/save_folder.h"

namespace meshwright {
namespace {

using Json = nlohmann::ordered_json;

// Made before hours of work.
absl::Status MakeFolder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) {
    return absl::ErrnoToStatus(error.value(),
                               absl::StrCat("--checkpoint ", path));
  }
  if (::access(path.c_str(), R_OK | W_OK | X_OK) == 0) return absl::OkStatus();
  return absl::ErrnoToStatus(errno, absl::StrCat("--checkpoint ", path));
}

// The plan and the seed, with which the run can be repeated.
absl::StatusOr<std::string> Extra(const CommandLine& line) {
  Json extra = {{"module", line.positional(0)},
                {"rng", {{"seed", line.Text("seed", "0")}}}};
  if (line.Has("plan")) {
    MW_ASSIGN_OR_RETURN(const std::string text,
                        ReadFile(line.Text("plan", "")));
    Json plan = Json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (plan.is_object()) extra["plan"] = std::move(plan);
  }
  return extra.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::vector<FlagSpec> RunCheckpoints::Flags() {
  return {{"checkpoint", "DIR",
           "save the state here while steps run, as DIR/step_N, and the last"},
          {"checkpoint-every", "N",
           "with --checkpoint: after every N steps (default: only the last)"},
          {"keep", "K", "with --checkpoint: only the last K (default all)"},
          {"resume", "",
           "with --checkpoint: go on from the newest there is, if there is "
           "one"}};
}

absl::StatusOr<RunCheckpoints> RunCheckpoints::From(const CommandLine& line) {
  RunCheckpoints made;
  made.directory_ = line.Text("checkpoint", "");
  for (const char* flag : {"checkpoint-every", "keep", "resume"}) {
    if (line.Has(flag) && made.directory_.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--", flag, " needs --checkpoint DIR"));
    }
  }
  if (!line.Has("checkpoint")) return made;
  MW_ASSIGN_OR_RETURN(made.every_,
                      line.Integer("checkpoint-every", 0, {1, 1'000'000'000}));
  MW_ASSIGN_OR_RETURN(made.keep_, line.Integer("keep", 0, {1, 1'000'000}));
  made.is_resumed_ = line.Has("resume");
  MW_RETURN_IF_ERROR(MakeFolder(made.directory_));
  MW_ASSIGN_OR_RETURN(made.extra_, Extra(line));
  return made;
}

absl::StatusOr<int64_t> RunCheckpoints::Resume(Runner& runner) {
  if (!is_resumed_) return 0;
  MW_ASSIGN_OR_RETURN(const std::vector<int64_t> steps, ListSteps(directory_));
  if (steps.empty()) return 0;
  MW_ASSIGN_OR_RETURN(const RestoredState restored, runner.Restore(directory_));
  absl::FPrintF(stderr, "resumed from %s\n", restored.folder);
  last_ = restored.step;
  const Json extra = Json::parse(restored.extra, nullptr, false);
  const auto position = Json::json_pointer("/data/position");
  if (extra.contains(position) && extra[position].is_number_integer()) {
    position_ = extra[position].get<int64_t>();
  }
  return restored.step;
}

int64_t RunCheckpoints::StepsUntilSave(int64_t step) const {
  return every_ == 0 ? std::numeric_limits<int64_t>::max()
                     : every_ - step % every_;
}

absl::Status RunCheckpoints::Save(int64_t step, bool in_background,
                                  Runner& runner) {
  Json extra = Json::parse(extra_);
  // Position in the dataset, in samples.
  if (const std::optional<int64_t> position = runner.position()) {
    extra["data"] = {{"position", *position}};
  }
  last_ = step;
  return runner.Save({.directory = directory_,
                      .step = step,
                      .keep_last = keep_,
                      .extra = extra.dump(),
                      .in_background = in_background});
}

void RunCheckpoints::Tell(const absl::Status& saved) const {
  if (saved.ok()) return;
  absl::FPrintF(stderr, "the state after step %d was not saved: %s\n",
                last_ - 1, saved.message());
}

void RunCheckpoints::AfterSteps(int64_t step, Runner& runner) {
  if (every_ == 0 || step % every_ != 0) return;
  Tell(runner.AwaitSaved());
  Tell(Save(step, /*in_background=*/true, runner));
}

absl::Status RunCheckpoints::Finish(int64_t step, Runner& runner) {
  if (directory_.empty()) return absl::OkStatus();
  const absl::Status saved = runner.AwaitSaved();
  if (last_ == step) return Annotate(saved, "--checkpoint");
  Tell(saved);
  return Annotate(Save(step, /*in_background=*/false, runner), "--checkpoint");
}

}  // namespace meshwright
