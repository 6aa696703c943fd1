#include "meshwright/search/plan_mesh.h"

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/hlo/verify.h"
#include "meshwright/loops/small_loop_for_test.h"
#include "meshwright/partition/partition.h"
#include "meshwright/search/layers_for_test.h"
#include "meshwright/search/least_peak.h"
#include "meshwright/search/mesh_problem.h"

namespace meshwright {
namespace {

// The best of all assignments, by trying each.
int64_t BruteForce(const Problem& problem) {
  std::vector<int32_t> choice(problem.nodes.size(), 0);
  int64_t best = std::numeric_limits<int64_t>::max();
  while (true) {
    const Evaluation value = Evaluate(problem, choice);
    if (value.allowed()) best = std::min(best, value.cost);
    size_t i = 0;
    while (i < choice.size() &&
           ++choice[i] == static_cast<int32_t>(problem.nodes[i].costs.size())) {
      choice[i++] = 0;
    }
    if (i == choice.size()) return best;
  }
}

TEST(PlanMesh, EqualsBruteForce) {
  const Module module = Layers(2, 8, 16);
  ASSERT_EQ(Verify(module), absl::OkStatus());
  const StepModel model = ModelStep(module, FusionStyleFor(true));
  for (const int64_t limit : {1'000'000, 3000, 2600}) {
    MeshTask task = TaskOn("d=2");
    task.memory_limit = limit;
    Resharder resharder(&task.mesh, task.prices);
    const MeshProblem problem(model, task, resharder);
    const int64_t best = BruteForce(problem.problem());
    const absl::StatusOr<MeshPlan> plan = PlanMesh(model, task);
    if (best == std::numeric_limits<int64_t>::max()) {
      EXPECT_TRUE(absl::IsResourceExhausted(plan.status())) << plan.status();
      continue;
    }
    ASSERT_TRUE(plan.ok()) << plan.status();
    EXPECT_NEAR(plan->seconds, static_cast<double>(best) / kUnitsPerSecond,
                1e-12)
        << limit;
    EXPECT_NEAR(plan->bound_seconds, plan->seconds, 1e-12);
    EXPECT_LE(plan->peak_bytes, limit);
  }
}

TEST(LeastPeak, IsTheLeastThatCanBePlanned) {
  const Module module = Layers(2, 8, 16);
  const StepModel model = ModelStep(module, FusionStyleFor(true));
  for (const char* text : {"d=2", "a=2,b=2", "a=2,b=4"}) {
    MeshTask task = TaskOn(text);
    const int64_t least = LeastPeak(model, task.mesh, {});
    task.memory_limit = least;
    const absl::StatusOr<MeshPlan> plan = PlanMesh(model, task);
    ASSERT_TRUE(plan.ok()) << plan.status();
    EXPECT_EQ(plan->peak_bytes, least);
    task.memory_limit = least - 1;
    EXPECT_TRUE(absl::IsResourceExhausted(PlanMesh(model, task).status()));
  }
}

// Alike layers in the middle of a deep stack share a group, so that the problem
// does not grow with it.
TEST(PlanMesh, DepthCostsNothing) {
  const Module deep = Layers(80, 8, 16);
  const Module deeper = Layers(160, 8, 16);
  EXPECT_EQ(ModelStep(deep, FusionStyleFor(true)).groups.count(),
            ModelStep(deeper, FusionStyleFor(true)).groups.count());
}

TEST(PlanMesh, AssignmentsLower) {
  const Module module = Layers(3, 8, 16);
  const StepModel model = ModelStep(module, FusionStyleFor(true));
  for (const char* text : {"d=2", "a=2,b=2", "a=2,b=4"}) {
    MeshTask task = TaskOn(text);
    task.memory_limit = 6000;
    const absl::StatusOr<MeshPlan> plan = PlanMesh(model, task);
    ASSERT_TRUE(plan.ok()) << plan.status();
    Resharder resharder(&task.mesh, task.prices);
    const absl::StatusOr<Partitioned> split = PartitionAs(
        module, task.mesh, model.graph, plan->assignment, resharder);
    EXPECT_TRUE(split.ok()) << split.status();
  }
}

// Of all plans that send as few bytes, the one with the least computing.
TEST(PlanMesh, ComputingOnlyBreaksTiesOfVolume) {
  const Module module = Layers(2, 8, 16);
  const StepModel model = ModelStep(module, FusionStyleFor(true));
  MeshTask task = TaskOn("d=2");
  // Nothing is sent by plans that split the batch.
  task.prices.collective = {1, 1};
  task.requirements.expert = [&](GroupId group, const Sharding& sharding) {
    const FlatOp& op = model.op(group);
    return op.kind != OpKind::kParameter || op.instruction->name != "x" ||
           AxesOf(sharding.dims[0]) == task.mesh.SubAxes(0);
  };
  const absl::StatusOr<MeshPlan> quickest = PlanMesh(model, task);
  task.objective = Objective::kVolume;
  const absl::StatusOr<MeshPlan> least = PlanMesh(model, task);
  ASSERT_TRUE(quickest.ok() && least.ok());
  // Costs are whole picoseconds.
  EXPECT_NEAR(least->seconds, 1e-3 * quickest->seconds,
              static_cast<double>(model.groups.count()) / kUnitsPerSecond);
  EXPECT_EQ(least->time.seconds, least->seconds);
}

TEST(PlanMesh, KeepsADemand) {
  const Module module = Layers(1, 8, 16);
  const StepModel model = ModelStep(module, FusionStyleFor(true));
  MeshTask task = TaskOn("d=2");
  task.requirements.expert = [&](GroupId group, const Sharding& sharding) {
    return model.op(group).instruction->name != "w0" ||
           AxesOf(sharding.dims[1]) == task.mesh.SubAxes(0);
  };
  const absl::StatusOr<MeshPlan> plan = PlanMesh(model, task);
  ASSERT_TRUE(plan.ok()) << plan.status();
  const OpId w0 = model.graph.parameters[1];
  EXPECT_EQ(AxesOf(ResultSharding(plan->assignment.rules[w0],
                                  plan->assignment.strategies[w0], 0, task.mesh)
                       .dims[1]),
            task.mesh.SubAxes(0));
  task.requirements.expert = [&](GroupId group, const Sharding&) {
    return model.op(group).instruction->name != "dot0";
  };
  EXPECT_THAT(PlanMesh(model, task).status().message(),
              testing::HasSubstr("dot0"));
}

// w stays split or not, and is carried through a loop split or not.
class HeldByALoop : public testing::Test {
 protected:
  HeldByALoop() : step_(/*loop_count=*/4) {
    Instruction* x = step_.Parameter("x", {512});
    w_ = step_.Parameter("w", {4, 512});
    step_.Return({step_.Scan("scan", x, w_, Way::kUp).carried});
    model_ = ModelStep(step_.module, FusionStyleFor(true));
    task_.memory_limit = 1 << 20;
  }

  Requirement Lying(bool is_split, bool is_carried_split) const {
    return [=, this](GroupId group, const Sharding& sharding) {
      const FlatOp& op = model_.op(group);
      const bool is_carried = op.kind == OpKind::kCarry && op.live &&
                              op.operands[1] == op.first_result;
      if (!is_carried && op.instruction != w_) return true;
      return (AxesOf(sharding.dims[1]) == task_.mesh.SubAxes(0)) ==
             (is_carried ? is_carried_split : is_split);
    };
  }
  absl::StatusOr<MeshPlan> Plan(bool is_split, bool is_carried_split) {
    task_.requirements.expert = Lying(is_split, is_carried_split);
    return PlanMesh(model_, task_);
  }
  MeshProblem ProblemWith(int64_t limit) {
    limited_.memory_limit = limit;
    return MeshProblem(model_, limited_, resharder_);
  }
  int64_t PeakOf(bool is_split, bool is_carried_split) {
    const absl::StatusOr<MeshPlan> plan = Plan(is_split, is_carried_split);
    EXPECT_TRUE(plan.ok()) << plan.status();
    if (!plan.ok()) return 0;
    const MeshProblem problem = ProblemWith(1 << 20);
    return problem.MemoryOf(problem.WarmStart(plan->axis_places, plan->shared))
        .peak;
  }

  SmallLoops step_;
  Instruction* w_ = nullptr;
  StepModel model_;
  MeshTask task_ = TaskOn("d=2");
  MeshTask limited_ = TaskOn("d=2");
  Resharder resharder_{&task_.mesh, task_.prices};
};

TEST_F(HeldByALoop, IsThereTwiceIfItIsCarriedInAnotherWay) {
  const int64_t whole = ByteSize(w_->shape);
  const int64_t split = PeakOf(true, true);
  EXPECT_EQ(PeakOf(false, false), split + whole / 2);
  EXPECT_EQ(PeakOf(true, false), split + whole);
  EXPECT_EQ(PeakOf(false, true), split + whole);
}

TEST_F(HeldByALoop, IsCarriedAsItIsWhereMemoryIsShort) {
  const absl::StatusOr<MeshPlan> plan = Plan(false, true);
  ASSERT_TRUE(plan.ok()) << plan.status();
  const int64_t peak = PeakOf(false, true);
  MeshProblem problem = ProblemWith(peak * 3 / 4);
  const std::vector<int32_t> chosen =
      problem.WarmStart(plan->axis_places, plan->shared);
  EXPECT_TRUE(Evaluate(problem.problem(), chosen).allowed());
  EXPECT_FALSE(problem.MemoryOf(chosen).fits);
  const std::vector<int32_t> start = problem.CarryAll(chosen);
  EXPECT_FALSE(Evaluate(problem.problem(), chosen).allowed());
  EXPECT_LT(Evaluate(problem.problem(), start).cost, kInfiniteCost);
  EXPECT_LT(problem.MemoryOf(start).peak, peak);
}

}  // namespace
}  // namespace meshwright
