#include "meshwright/explain/explain.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/base/file.h"
#include "meshwright/cost/host_for_test.h"
#include "meshwright/cost/price_list.h"
#include "meshwright/explain/break_even.h"
#include "meshwright/explain/explain_binds.h"
#include "meshwright/explain/explain_locally.h"
#include "meshwright/hlo/read_module.h"
#include "meshwright/mesh/cluster_file.h"
#include "meshwright/mesh/sharding_text.h"
#include "meshwright/planner/planner.h"
#include "meshwright/search/plan_mesh.h"

namespace meshwright {
namespace {

using ::testing::SizeIs;

// A step of two layers, x[12,8] weights/in[8,16] weights/out[16,8], on four
// devices so slow that splitting its computing pays.
class ExplainTest : public testing::Test {
 protected:
  void SetUp() override {
    const absl::StatusOr<std::string> bytes =
        ReadFile(MW_SOURCE_DIR "/tests/partition/testdata/mean.hlo.pb.zst");
    ASSERT_TRUE(bytes.ok()) << bytes.status();
    absl::StatusOr<Module> module = ReadModule(*bytes);
    ASSERT_TRUE(module.ok()) << module.status();
    module_ = std::make_unique<Module>(*std::move(module));
    absl::StatusOr<Cluster> cluster = ParseClusterSpec("h200:4", {});
    ASSERT_TRUE(cluster.ok()) << cluster.status();
    cluster_ = *std::move(cluster);
    rates_ = WithFreeHost(AssumedRates(cluster_));
    constexpr double kSlower = 2e4;
    for (auto& [type, curve] : rates_.matmul) Slow(curve, kSlower);
    Slow(rates_.memory, kSlower);
    rates_.vector_flops.value /= kSlower;
    rates_.transcendentals.value /= kSlower;
  }

  static void Slow(Curve& curve, double times) {
    for (Curve::Point& point : curve.points) point.value /= times;
  }

  Plan PlanFor(PlanRequest request = {}) {
    request.mesh = *Mesh::Parse("d=4");
    absl::StatusOr<Plan> plan = MakePlan(*module_, cluster_, rates_, request);
    EXPECT_TRUE(plan.ok()) << plan.status();
    return *std::move(plan);
  }

  std::unique_ptr<PlanStudy> StudyOf(const Plan& plan, Annotations pins = {}) {
    absl::StatusOr<std::unique_ptr<PlanStudy>> study =
        PlanStudy::Of(*module_, plan, std::move(pins));
    EXPECT_TRUE(study.ok()) << study.status();
    return *std::move(study);
  }

  // The best plan by the search itself, the results of `group` lying so.
  double SecondsWith(const Plan& plan, GroupId group, const Sharding& sharding,
                     double link_speed = 1, bool pinned = true) {
    const StepModel model =
        ModelStep(*module_, FusionStyleFor(cluster_.IsCpu()));
    MeshTask task{.mesh = plan.mesh()};
    task.prices = PricesFor(rates_, cluster_, plan.mesh());
    std::vector<Prices::ByKind> table = task.prices.by_axes;
    for (Prices::ByKind& kinds : table) {
      for (CollectivePrice& price : kinds) {
        price.latency /= link_speed;
        price.per_wire_byte /= link_speed;
      }
    }
    task.prices.SetByAxes(std::move(table));
    task.rates = &rates_;
    task.memory_limit = plan.memory_bytes;
    if (pinned) {
      task.requirements.expert = [=](int32_t of, const Sharding& lies) {
        return of != group || lies == sharding;
      };
    }
    const absl::StatusOr<MeshPlan> made = PlanMesh(model, task);
    EXPECT_TRUE(made.ok()) << made.status();
    return made->seconds;
  }

  Sharding Lies(const std::string& text, const Plan& plan,
                const std::string& parameter) {
    for (const PlannedTensor& tensor : plan.tensors.parameters) {
      if (tensor.name == parameter) {
        return *ParseSharding(text, tensor.dimensions, plan.mesh());
      }
    }
    ADD_FAILURE() << parameter;
    return {};
  }

  std::unique_ptr<Module> module_;
  Cluster cluster_;
  Rates rates_;
};

TEST_F(ExplainTest, AsPlannedIsWhatTheSearchFound) {
  const Plan plan = PlanFor();
  const auto study = StudyOf(plan);
  // The sum of ops and moves, about what its program will take.
  EXPECT_NEAR(study->as_planned().seconds, plan.alternatives[0].seconds,
              0.3 * plan.alternatives[0].seconds);
  EXPECT_NEAR(study->Ask({})->seconds, study->as_planned().seconds, 1e-12);
}

TEST_F(ExplainTest, RegretIsThatOfThePlanWithTheOptionPinned) {
  const Plan plan = PlanFor();
  const auto study = StudyOf(plan);
  const std::string name = "weights/in";
  const absl::StatusOr<ChoiceReport> report =
      ExplainChoice(*study, study->GroupNamed(name));
  ASSERT_TRUE(report.ok()) << report.status();
  ASSERT_THAT(report->options, SizeIs(3));  // Whole, and either dimension.
  EXPECT_TRUE(report->options[0].is_chosen);
  EXPECT_EQ(report->options[0].regret, 0);
  double last = 0;
  for (const OptionReport& option : report->options) {
    ASSERT_TRUE(option.regret.has_value()) << option.text;
    EXPECT_TRUE(option.is_exact);
    EXPECT_GE(*option.regret, last);
    last = *option.regret;
    const double want = SecondsWith(plan, study->GroupNamed(name),
                                    Lies(option.text, plan, name)) -
                        study->as_planned().seconds;
    EXPECT_NEAR(*option.regret, want, 1e-3 * study->as_planned().seconds)
        << option.text;
  }
  EXPECT_GT(last, 0);
}

TEST_F(ExplainTest, FixedNeighboursCostAtLeastTheRegret) {
  const Plan plan = PlanFor();
  const auto study = StudyOf(plan);
  const LocalView local(*study);
  const Problem& problem = study->problem().problem();
  int compared = 0;
  for (GroupId g{0}; g < study->model().groups.count(); ++g) {
    ASSERT_GE(study->chosen()[g], 0);
    const LocalCost now = local.Of(g, study->chosen()[g]);
    for (size_t i = 0; i < study->problem().options(g).size(); ++i) {
      const int32_t option = static_cast<int32_t>(i);
      const LocalCost cost = local.Of(g, option);
      if (cost.moves >= kInfiniteCost) continue;
      const absl::StatusOr<Answer> best =
          study->Ask({.group = g, .option = option});
      ASSERT_TRUE(best.ok()) << best.status();
      const double fixed = static_cast<double>(cost.compute + cost.moves -
                                               now.compute - now.moves) /
                           kUnitsPerSecond;
      EXPECT_LE(best->seconds - study->as_planned().seconds, fixed + 1e-12);
      ++compared;
    }
  }
  EXPECT_GT(compared, std::ssize(problem.nodes));
}

TEST_F(ExplainTest, BeyondAFlipTheSearchChoosesOtherwise) {
  const Plan plan = PlanFor();
  const auto study = StudyOf(plan);
  const GroupId group = study->GroupNamed("dot_general.6");
  const int32_t option = study->chosen()[group];
  const Sharding& chosen =
      study->problem()
          .pool()[study->problem().options(group)[option].results[0]];
  bool slower = false;
  for (const BreakEven& point : FindBreakEvens(*study, group)) {
    if (point.of != BreakEven::Of::kSlowerLinks) continue;
    slower = true;
    EXPECT_LT(point.factor, 1);
    EXPECT_NE(point.instead, study->TextOf(group, option));
    const double there = point.factor / 1.01;
    EXPECT_GT(SecondsWith(plan, group, chosen, there),
              SecondsWith(plan, group, chosen, there, /*pinned=*/false));
    const double before = point.factor * 1.2;
    EXPECT_NEAR(SecondsWith(plan, group, chosen, before) /
                    SecondsWith(plan, group, chosen, before, false),
                1, 1e-3);
  }
  // With links slow enough, everything is computed everywhere.
  EXPECT_TRUE(slower);
}

TEST_F(ExplainTest, LessMemoryThanAnyPlanNeedsIsNamed) {
  const Plan plan = PlanFor();
  const auto study = StudyOf(plan);
  int found = 0;
  for (const BreakEven& point :
       FindBreakEvens(*study, study->GroupNamed("weights/in"))) {
    if (point.of != BreakEven::Of::kLessMemory) continue;
    ++found;
    EXPECT_LT(point.bytes, study->as_planned().peak_bytes);
    const absl::StatusOr<Answer> there = study->Ask({.memory = point.bytes});
    EXPECT_EQ(point.instead.empty(), !there.ok());
  }
  EXPECT_EQ(found, 1);
}

TEST_F(ExplainTest, PinsThatCostAreNamedWithWhatTheyCost) {
  const Mesh mesh = *Mesh::Parse("d=4");
  Annotations pins;
  pins.parameters.resize(3);
  const Plan free = PlanFor();
  for (size_t i = 0; i < free.tensors.parameters.size(); ++i) {
    const PlannedTensor& tensor = free.tensors.parameters[i];
    if (tensor.name == "x") {  // Costs: it has to be gathered.
      pins.parameters[i] = *ParseSharding("[-, d]", tensor.dimensions, mesh);
    } else if (tensor.name == "weights/in") {  // As it would be.
      pins.parameters[i] = tensor.sharding;
    }
  }
  PlanRequest request;
  request.annotations = [&](const Mesh&) {
    return absl::StatusOr<Annotations>(pins);
  };
  const Plan plan = PlanFor(request);
  const auto study = StudyOf(plan, pins);
  EXPECT_THAT(study->pins(), SizeIs(3));  // And the next value of the state.
  const double saved =
      study->as_planned().seconds - StudyOf(free)->as_planned().seconds;
  ASSERT_GT(saved, 0);
  std::vector<std::string> whats;
  for (const BindReport& bind : ExplainBinds(*study)) {
    whats.push_back(bind.what);
    EXPECT_NEAR(bind.saves, saved, 1e-3 * study->as_planned().seconds);
  }
  EXPECT_THAT(whats, testing::UnorderedElementsAre("pins", "pin x"));
}

TEST_F(ExplainTest, AStrategyThatCostsIsNamed) {
  PlanRequest request;
  request.expert = Expert::kZero3;
  const Plan plan = PlanFor(request);
  const auto study = StudyOf(plan);
  const std::vector<BindReport> binds = ExplainBinds(*study);
  ASSERT_THAT(binds, SizeIs(1));
  EXPECT_EQ(binds[0].what, "strategy");
  EXPECT_EQ(binds[0].asked, "zero3");
  EXPECT_NEAR(
      binds[0].saves,
      study->as_planned().seconds - StudyOf(PlanFor())->as_planned().seconds,
      1e-3 * study->as_planned().seconds);
}

TEST_F(ExplainTest, ForbiddenCollectivesThatCostAreNamed) {
  PlanRequest request;
  request.forbidden = *ParseForbidden("all-reduce,collective-permute");
  const Plan plan = PlanFor(request);
  const auto study = StudyOf(plan);
  const double saved =
      study->as_planned().seconds - StudyOf(PlanFor())->as_planned().seconds;
  ASSERT_GT(saved, 0);
  std::vector<std::string> asked;
  for (const BindReport& bind : ExplainBinds(*study)) {
    EXPECT_EQ(bind.what, "forbid");
    EXPECT_NEAR(bind.saves, saved, 1e-3 * study->as_planned().seconds);
    asked.push_back(bind.asked);
  }
  EXPECT_THAT(asked, testing::UnorderedElementsAre("all 2", "all-reduce"));
}

TEST_F(ExplainTest, ABatchAxisThatCostsIsNamed) {
  // With computing this quick, all of it everywhere is best.
  rates_ = AssumedRates(cluster_);
  PlanRequest request;
  request.batch_axis = "d";
  const Plan plan = PlanFor(request);
  const auto study = StudyOf(plan);
  const double saved =
      study->as_planned().seconds - StudyOf(PlanFor())->as_planned().seconds;
  ASSERT_GT(saved, 0);
  const std::vector<BindReport> binds = ExplainBinds(*study);
  ASSERT_THAT(binds, SizeIs(1));
  EXPECT_EQ(binds[0].what, "batch-axis");
  EXPECT_EQ(binds[0].asked, "d");
  EXPECT_NEAR(binds[0].saves, saved, 1e-3 * study->as_planned().seconds);
}

TEST_F(ExplainTest, AMeshThatCostsIsNamed) {
  PlanRequest request;
  request.mesh = *Mesh::Parse("d=1");
  const absl::StatusOr<Plan> plan =
      MakePlan(*module_, cluster_, rates_, request);
  ASSERT_TRUE(plan.ok()) << plan.status();
  const auto study = StudyOf(*plan);
  const auto bind = ExplainMesh(*module_, *study);
  ASSERT_TRUE(bind.ok()) << bind.status();
  ASSERT_TRUE(bind->has_value());
  EXPECT_EQ((*bind)->what, "mesh");
  EXPECT_EQ((*bind)->asked, "d=1");
  const absl::StatusOr<Plan> free = MakePlan(*module_, cluster_, rates_, {});
  ASSERT_TRUE(free.ok()) << free.status();
  EXPECT_NEAR((*bind)->saves,
              plan->predicted.step_seconds - free->predicted.step_seconds,
              1e-3 * plan->predicted.step_seconds);
  EXPECT_FALSE(ExplainMesh(*module_, *StudyOf(*free))->has_value());
}

TEST_F(ExplainTest, APlanOfAnotherModuleIsRefused) {
  Plan plan = PlanFor();
  ++plan.fingerprint;
  EXPECT_TRUE(
      absl::IsInvalidArgument(PlanStudy::Of(*module_, plan, {}).status()));
}

}  // namespace
}  // namespace meshwright
