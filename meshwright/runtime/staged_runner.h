// Runs a training step as a pipeline: stages on disjoint groups of devices of
// one client, a thread for each rank that works off its row of the timetable.
//
//   MW_ASSIGN_OR_RETURN(auto runner, StagedRunner::Create(
//       module, step, timetable, layout, client.get()));
//   MW_RETURN_IF_ERROR(runner->FillSynthetic(/*seed=*/0));
//   MW_ASSIGN_OR_RETURN(const StepResult result, runner->Step());
//
#ifndef MESHWRIGHT_RUNTIME_STAGED_RUNNER_H_
#define MESHWRIGHT_RUNTIME_STAGED_RUNNER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "meshwright/analysis/roles.h"
#include "meshwright/runtime/runner.h"
#include "meshwright/runtime/staged_rank.h"

namespace meshwright {

class StagedRunner : public Runner {
 public:
  // Compiles. Rank r has the next devices of the client, as many
  // as the mesh of its stages. `module` is the whole step that `step` was made
  // of; all outlive the runner. kInvalidArgument when the timetable does not
  // fit the step or the devices are too few.
  static absl::StatusOr<std::unique_ptr<StagedRunner>> Create(
      const Module& module, const StagedStep& step, Timetable timetable,
      StagedLayout layout, Client* client, OptionMap xla_overrides = {});

  // From the next step on. kInvalidArgument when it cannot run, or places
  // stages otherwise.
  absl::Status SetTimetable(Timetable timetable);

  const ModuleRoles& roles() const override { return roles_; }
  absl::Status FillSynthetic(uint64_t seed) override;
  absl::Status Set(std::vector<Tensor> tensors) override;
  absl::StatusOr<StepResult> Step() override;
  absl::StatusOr<std::vector<Tensor>> ReadState() const override;
  absl::StatusOr<std::vector<Tensor>> ReadOutputs() const override;

  const Timetable& timetable() const { return timetable_; }
  // What happened in the last step; seconds since it began.
  const Simulation& execution() const { return execution_; }
  const StagedPrograms& programs() const { return programs_; }

 private:
  StagedRunner(const Module& module, const StagedStep& step,
               Timetable timetable, Client* client);

  absl::Status PlaceStages();
  absl::Status Compile(const OptionMap& overrides);
  void PlanRoutes();
  absl::Status UploadNumbers();
  absl::Status SetParameter(int64_t number, Tensor tensor);
  absl::Status CheckGiven() const;
  // State that lives on one stage, to the others that read it.
  absl::Status SendState();
  absl::Status RunRanks();
  void Record(int rank, StagedRank::Record record);
  absl::StatusOr<Tensor> ReadParameter(int64_t number) const;

  const Module& module_;
  const StagedStep& step_;
  Timetable timetable_;
  const ModuleRoles roles_;
  std::vector<Shape> shapes_;  // Of the parameters.
  StagedPrograms programs_;
  StagedInputs inputs_;
  std::map<int64_t, SharedArray> outputs_;  // Of the last step, by value.
  Simulation execution_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_RUNTIME_STAGED_RUNNER_H_
