#include "meshwright/cli/dump_plan.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "meshwright/base/file.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/explain/explain_study.h"
#include "meshwright/hlo/print_module.h"
#include "meshwright/planner/planner.h"
#include "meshwright/solve/iopddl.h"

namespace meshwright {
namespace {

constexpr double kSecondsApart = 0.2;

std::string Candidates(const std::vector<Alternative>& tried) {
  std::string table =
      "mesh\tstages\tmicro_batches\trecompute\tsearch_seconds\tbound_seconds"
      "\tprogram_seconds\twhy_not\n";
  for (const Alternative& one : tried) {
    absl::StrAppendFormat(&table, "%s\t%d\t%d\t%s\t%.9g\t%.9g\t%.9g\t%s\n",
                          one.mesh, one.stages, one.micro_batches,
                          Name(one.recompute), one.seconds, one.bound,
                          one.predicted_seconds, one.why_not);
  }
  return table;
}

std::string Phases(const std::map<std::string, double>& by_phase) {
  std::string table = "phase\tseconds\n";
  for (const auto& [phase, seconds] : by_phase) {
    absl::StrAppendFormat(&table, "%s\t%.6f\n", phase, seconds);
  }
  return table;
}

absl::Status WriteTables(const std::string& folder,
                         const std::string& candidates,
                         const std::string& phases) {
  MW_RETURN_IF_ERROR(
      WriteFileAtomically(absl::StrCat(folder, "/phases.tsv"), phases));
  return WriteFileAtomically(absl::StrCat(folder, "/candidates.tsv"),
                             candidates);
}

// Whether a file of this name is of a plan. Programs of stages are called as
// StageProgram::Name says: "F0.hlo", "A0.1.hlo".
bool IsDumped(absl::string_view name) {
  for (const char* known : {"candidates.tsv", "phases.tsv", "plan.json",
                            "problem.json", "program.hlo"}) {
    if (name == known) return true;
  }
  if (!absl::ConsumeSuffix(&name, ".hlo") || name.empty()) return false;
  const char kind = name[0];
  const std::vector<absl::string_view> numbers =
      absl::StrSplit(name.substr(1), '.');
  return absl::string_view("FIWAS").find(kind) != absl::string_view::npos &&
         numbers.size() == (kind == 'A' ? 2u : 1u) &&
         std::ranges::all_of(numbers, [](absl::string_view number) {
           return !number.empty() &&
                  std::ranges::all_of(number, absl::ascii_isdigit);
         });
}

absl::Status WritePrograms(const Module& module, const Plan& plan,
                           const std::string& folder) {
  const auto write = [&](const std::string& name, const Module& program) {
    return WriteFileAtomically(absl::StrCat(folder, "/", name, ".hlo"),
                               ToString(program));
  };
  if (plan.stages() == 1) {
    MW_ASSIGN_OR_RETURN(const Partitioned split, PartitionPlan(module, plan));
    return write("program", split.module);
  }
  MW_ASSIGN_OR_RETURN(const PlannedStages stages, StagePlan(module, plan));
  for (size_t i = 0; i < stages.step.programs.size(); ++i) {
    MW_RETURN_IF_ERROR(write(stages.step.programs[i].Name(),
                             stages.layout.programs[i].module));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status MakeDumpFolder(const std::string& folder, absl::string_view flag) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (!std::filesystem::is_directory(folder)) {
    return absl::InvalidArgumentError(
        absl::StrCat(flag, " ", folder, ": ",
                     error ? error.message() : std::string("it is no folder")));
  }
  if (::access(folder.c_str(), W_OK | X_OK) != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(flag, " ", folder, ": it cannot be written to"));
  }
  return absl::OkStatus();
}

absl::Status BeginDump(const std::string& folder) {
  MW_RETURN_IF_ERROR(MakeDumpFolder(folder));
  std::error_code error;
  std::vector<std::filesystem::path> earlier;
  for (const auto& file : std::filesystem::directory_iterator(folder, error)) {
    if (IsDumped(file.path().filename().string())) {
      earlier.push_back(file.path());
    }
  }
  for (const std::filesystem::path& path : earlier) {
    std::filesystem::remove(path, error);
    if (error) {
      return absl::InvalidArgumentError(
          absl::StrCat("--dump ", folder, ": ", path.filename().string(),
                       " of an earlier plan: ", error.message()));
    }
  }
  return absl::OkStatus();
}

void DumpedProgress::Take(const PlanProgress& progress) {
  candidates_ = Candidates(progress.tried);
  phases_ = Phases(progress.seconds);
  if (since_write_.has_value() && since_write_->seconds() < kSecondsApart) {
    return;
  }
  Write();
}

void DumpedProgress::Write() {
  if (phases_.empty()) return;
  WriteTables(folder_, candidates_, phases_).IgnoreError();
  since_write_.emplace();
}

absl::Status DumpPlan(const Module& module, const Plan& plan,
                      const std::string& folder) {
  const auto write = [&](const char* name, const std::string& text) {
    return WriteFileAtomically(absl::StrCat(folder, "/", name), text);
  };
  MW_RETURN_IF_ERROR(write("plan.json", absl::StrCat(ToJson(plan), "\n")));
  MW_RETURN_IF_ERROR(
      WriteTables(folder, Candidates(plan.alternatives), Phases(plan.seconds)));
  MW_ASSIGN_OR_RETURN(const std::unique_ptr<PlanStudy> study,
                      PlanStudy::Of(module, plan, {}));
  MW_RETURN_IF_ERROR(
      write("problem.json", WriteIopddl(study->problem().problem())));
  return WritePrograms(module, plan, folder);
}

}  // namespace meshwright
