#include "meshwright/search/memory_points.h"

#include "gtest/gtest.h"
#include "meshwright/cost/attention_step_for_test.h"
#include "meshwright/cost/workspaces.h"
#include "meshwright/hlo/read_text.h"
#include "meshwright/search/layers_for_test.h"
#include "meshwright/search/plan_mesh.h"

namespace meshwright {
namespace {

int64_t PeakOf(const Module& module, const FusionStyle& style,
               const char* mesh) {
  const StepModel model = ModelStep(module, style);
  const absl::StatusOr<MeshPlan> plan = PlanMesh(model, TaskOn(mesh));
  EXPECT_TRUE(plan.ok()) << plan.status();
  return plan.ok() ? plan->peak_bytes : 0;
}

// That of a device's part of the batch or of the heads.
TEST(MemoryPoints, KernelsHaveTheirWorkspaces) {
  const AttentionStepForTest step(8, 1024, 16, 1);
  const int64_t whole = WorkspaceBytes(*step.call, SizesOf(*step.call));
  ASSERT_GT(whole, 0);
  FusionStyle with = FusionStyleFor(/*cpu=*/false);
  FusionStyle without = with;
  without.has_workspaces = false;
  for (const auto& [mesh, parts] :
       {std::pair<const char*, int64_t>{"d=1", 1}, {"d=4", 4}}) {
    EXPECT_EQ(PeakOf(step.module, with, mesh),
              PeakOf(step.module, without, mesh) + whole / parts)
        << mesh;
  }
}

// A workspace among the results is there while its kernel runs.
TEST(MemoryPoints, ResultsThatNothingReadsCount) {
  constexpr char kStep[] = R"(HloModule step
ENTRY main {
  x = f32[64,32] parameter(0)
  both = (f32[64,32], f32[4096]) custom-call(x), custom_call_target="sort", frontend_attributes={mw.rule="a b -> a b, w {need_replication: b}"}
  sorted = f32[64,32] get-tuple-element(both), index=0
  ROOT out = (f32[64,32]) tuple(sorted)
}
)";
  absl::StatusOr<Module> module = ReadModuleText(kStep);
  ASSERT_TRUE(module.ok()) << module.status();
  const StepModel model = ModelStep(*module, FusionStyleFor(/*cpu=*/false));
  double most = 0;
  for (const GroupValue& value : model.values) {
    if (value.shape->rank() != 1) continue;
    for (const float alive : value.alive) most = std::max<double>(most, alive);
  }
  EXPECT_EQ(most, 1);
}

}  // namespace
}  // namespace meshwright
