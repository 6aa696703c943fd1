// stage_cut MODULE STAGES MICRO_BATCHES [LINEAR]: bytes between stages and the
// balance of their work, ours and as others cut. Without LINEAR=1 only ours.
//
// One JSON object: by way of cutting, "bytes" of a micro-batch, "balance", and
// for each of the others "ours": what we cut within that one's balance.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "absl/strings/str_format.h"
#include "bench/stage_cut/baselines.h"
#include "meshwright/analysis/roles.h"
#include "meshwright/base/file.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/base/stopwatch.h"
#include "meshwright/hlo/inline_calls.h"
#include "meshwright/hlo/read_module.h"
#include "meshwright/hlo/verify.h"
#include "meshwright/pipeline_search/assign_stages.h"
#include "meshwright/pipeline_search/step_stages.h"

namespace meshwright {
namespace {

constexpr double kTolerance = 0.05;

absl::StatusOr<std::string> Ours(const StageGraph& graph, int32_t stages,
                                 double tolerance) {
  const Stopwatch time;
  MW_ASSIGN_OR_RETURN(
      const StageAssignment best,
      AssignStages(graph, StageLimits::Even(stages, tolerance)));
  return absl::StrFormat(
      R"({"bytes": %d, "balance": %.6f, "bound": %d, "gap": %.4f, )"
      R"("clusters": %d, "down_sets": %d, "seconds": %.3f})",
      best.cost.cut_bytes, best.cost.balance, best.bytes_bound, best.Gap(),
      best.clusters, best.down_sets, time.seconds());
}

absl::StatusOr<std::string> Other(const StageGraph& graph, int32_t stages,
                                  const std::vector<StageId>& assigned) {
  const CutCost cost = CostOf(graph, StageLimits::Even(stages, 0), assigned);
  MW_ASSIGN_OR_RETURN(const std::string ours,
                      Ours(graph, stages, cost.balance * (1 + 1e-9) - 1));
  return absl::StrFormat(R"({"bytes": %d, "balance": %.6f, "ours": %s})",
                         cost.cut_bytes, cost.balance, ours);
}

absl::Status Measure(const std::string& path, int32_t stages,
                     int64_t micro_batches, bool others) {
  MW_ASSIGN_OR_RETURN(const std::string content, ReadFile(path));
  MW_ASSIGN_OR_RETURN(Module module, ReadModule(content));
  MW_RETURN_IF_ERROR(Verify(module));
  if (HasCalls(module)) module = InlineCalls(module);
  MW_ASSIGN_OR_RETURN(
      const PipelineStep step,
      TakeApart(module, AnalyzeRoles(module), {.count = micro_batches}));
  const StepGraph graph = MakeStepGraph(step);
  MW_ASSIGN_OR_RETURN(const std::string ours,
                      Ours(graph.graph, stages, kTolerance));
  absl::PrintF(R"({"nodes": %d, "tolerance": %g, "ours": %s)",
               graph.graph.size(), kTolerance, ours);
  if (others) {
    if (const auto uniform = UniformLayers(step, graph, stages)) {
      MW_ASSIGN_OR_RETURN(const std::string text,
                          Other(graph.graph, stages, *uniform));
      absl::PrintF(R"(, "uniform": %s)", text);
    }
    for (const auto& [name, tolerance] :
         {std::pair("linear", 0.0), std::pair("linear_fewest", kTolerance)}) {
      MW_ASSIGN_OR_RETURN(
          const std::string text,
          Other(graph.graph, stages,
                LinearProgramme(graph.graph,
                                StageLimits::Even(stages, tolerance))));
      absl::PrintF(R"(, "%s": %s)", name, text);
    }
  }
  absl::PrintF("}\n");
  return absl::OkStatus();
}

}  // namespace
}  // namespace meshwright

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fputs("usage: stage_cut MODULE STAGES MICRO_BATCHES [1]\n", stderr);
    return 2;
  }
  const absl::Status status = meshwright::Measure(argv[1], std::atoi(argv[2]),
                                                  std::atoi(argv[3]), argc > 4);
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  return 2;
}
