#include "tests/pipeline/pipeline_oracle.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "meshwright/analysis/direction.h"
#include "meshwright/base/annotate.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/partition/micro_batch_loop.h"
#include "meshwright/schedule/generate.h"
#include "tests/partition/partition_oracle.h"

namespace meshwright {
namespace {

constexpr uint64_t kSeed = 0;

Literal AsLiteral(const Tensor& tensor) {
  Literal literal;
  literal.shape = Shape::Array(tensor.type, tensor.dimensions);
  literal.data = tensor.data;
  return literal;
}

template <typename Runner>
absl::StatusOr<std::vector<Tensor>> OutputsAfter(Runner& runner, int steps) {
  MW_RETURN_IF_ERROR(runner.FillSynthetic(kSeed));
  for (int step = 0; step < steps; ++step) {
    MW_RETURN_IF_ERROR(runner.Step().status());
  }
  return runner.ReadOutputs();
}

}  // namespace

absl::StatusOr<std::unique_ptr<PipelineOracle>> PipelineOracle::Create(
    const Module& module, int64_t micro_batches, int steps) {
  const MicroBatchOptions options{.count = micro_batches};
  MW_ASSIGN_OR_RETURN(PipelineStep step,
                      TakeApart(module, AnalyzeRoles(module), options));
  std::unique_ptr<PipelineOracle> oracle(
      new PipelineOracle(module, steps, std::move(step)));
  MW_ASSIGN_OR_RETURN(const Module looped,
                      LoopOverMicroBatches(module, options));
  MW_ASSIGN_OR_RETURN(Client* const client, OracleClient());
  MW_ASSIGN_OR_RETURN(const auto runner, StepRunner::Create(looped, client));
  MW_ASSIGN_OR_RETURN(oracle->wanted_, OutputsAfter(*runner, steps));
  return oracle;
}

absl::StatusOr<StagedStep> PipelineOracle::Staged(int32_t stages) const {
  return MakeStagePrograms(step_.split, {.stages = stages,
                                         .forward = BalancedStages(
                                             step_.micro_batch(), step_.forward,
                                             step_.is_data, stages),
                                         .state = step_.state});
}

absl::StatusOr<std::vector<Tensor>> PipelineOracle::Run(
    const StagedStep& staged, const PipelineCase& test) const {
  MW_ASSIGN_OR_RETURN(Client* const client, OracleClient());
  MW_ASSIGN_OR_RETURN(const Mesh mesh, Mesh::Parse(test.mesh));
  MW_ASSIGN_OR_RETURN(
      Timetable timetable,
      MakeTimetable({.stages = test.stages,
                     .ranks = test.ranks,
                     .micro_batches = static_cast<int>(staged.micro_batches)},
                    test.schedule));
  MW_ASSIGN_OR_RETURN(
      const auto runner,
      StagedRunner::Create(module_, staged, std::move(timetable),
                           std::vector<Mesh>(test.stages, mesh), client));
  return OutputsAfter(*runner, steps_);
}

absl::Status PipelineOracle::Compare(const std::vector<Tensor>& outputs,
                                     double tolerance) const {
  const Mesh one = Mesh::Parse("1").value();
  for (size_t i = 0; i < wanted_.size(); ++i) {
    MW_RETURN_IF_ERROR(
        Annotate(CompareScaled(AsLiteral(outputs[i]), AsLiteral(wanted_[i]),
                               Sharding::Replicated(wanted_[i].dimensions), one,
                               0, tolerance)
                     .status(),
                 wanted_[i].name));
  }
  return absl::OkStatus();
}

}  // namespace meshwright
