#include "meshwright/planner/refine_mesh.h"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/hlo/verify.h"
#include "meshwright/mesh/cluster_file.h"
#include "meshwright/mesh/cluster_mesh.h"
#include "meshwright/planner/planner.h"

namespace meshwright {
namespace {

Cluster ClusterOf(const char* text) {
  absl::StatusOr<Cluster> cluster = ParseClusterSpec(text, {});
  EXPECT_TRUE(cluster.ok()) << cluster.status();
  return *std::move(cluster);
}

// Devices so slow that splitting small products pays.
Rates SlowRates(const Cluster& cluster, double times) {
  Rates rates = AssumedRates(cluster);
  const auto slow = [&](Curve& curve) {
    for (Curve::Point& point : curve.points) point.value /= times;
  };
  for (auto& [type, curve] : rates.matmul) slow(curve);
  slow(rates.memory);
  rates.vector_flops.value /= times;
  rates.transcendentals.value /= times;
  return rates;
}

// Products of matrices [7,7], `batch` of them side by side, one after another:
// nothing but the batch dimensions can be split.
Module Products(const std::vector<int64_t>& batch, int layers) {
  Module module("products");
  Computation* const entry = module.AddComputation("main");
  std::vector<int64_t> sizes = batch;
  sizes.insert(sizes.end(), {7, 7});
  const Shape shape = Shape::Array(ElementType::kF32, sizes);
  const int64_t rank = std::ssize(batch);
  DotDimensionNumbers numbers{.lhs_contracting = {rank + 1},
                              .rhs_contracting = {rank}};
  for (int64_t i = 0; i < rank; ++i) {
    numbers.lhs_batch.push_back(i);
    numbers.rhs_batch.push_back(i);
  }
  Instruction* x = entry->AddParameter(shape, "x");
  std::vector<Instruction*> weights;
  for (int i = 0; i < layers; ++i) {
    weights.push_back(entry->AddParameter(shape, "w" + std::to_string(i)));
  }
  for (int i = 0; i < layers; ++i) {
    Instruction* dot = entry->Add(Opcode::kDot, shape, {x, weights[i]},
                                  "dot" + std::to_string(i));
    dot->attributes.mutate().dot = numbers;
    x = entry->Add(Opcode::kTanh, shape, {dot}, "tanh" + std::to_string(i));
  }
  module.set_entry(entry);
  entry->set_root(x);
  return module;
}

double SecondsOn(const Module& module, const Cluster& cluster,
                 const Rates& rates, const Mesh& mesh) {
  PlanRequest request;
  request.mesh = mesh;
  request.stages = 1;
  request.micro_batches = 1;
  const absl::StatusOr<Plan> plan = MakePlan(module, cluster, rates, request);
  return plan.ok() ? plan->predicted.step_seconds
                   : std::numeric_limits<double>::infinity();
}

std::vector<std::string> Texts(const std::vector<SplitMesh>& splits) {
  std::vector<std::string> texts;
  for (const SplitMesh& split : splits) texts.push_back(split.mesh.ToString());
  return texts;
}

TEST(SplitsOf, EndsOfHostsComeFirst) {
  EXPECT_THAT(
      Texts(SplitsOf(*Mesh::Parse("x=16,y=4"), ClusterOf("h200:8x8"), {})),
      testing::ElementsAre("x=8,y=2,z=4", "x=4,y=4,z=4", "x=16,y=2,z=2",
                           "x=2,y=8,z=4"));
  EXPECT_THAT(Texts(SplitsOf(*Mesh::Parse("x=6,y=4"), ClusterOf("h200:3x8"), {},
                             /*first=*/1)),
              testing::ElementsAre("x=6,y=2,z=2"));
  EXPECT_TRUE(
      SplitsOf(*Mesh::Parse("x=4,y=4,z=4"), ClusterOf("h200:8x8"), {}).empty());
}

// Three small dimensions can be split in two each: on eight devices that takes
// three axes.
TEST(RefineMeshes, ThreeAxesAreFoundWhereTheyWin) {
  const Module module = Products({2, 2, 2}, 3);
  ASSERT_EQ(Verify(module), absl::OkStatus());
  const Cluster cluster = ClusterOf("h200:8");
  const Rates rates = SlowRates(cluster, 1e6);
  const absl::StatusOr<Plan> plan = MakePlan(module, cluster, rates, {});
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->mesh().axes().size(), 3u) << plan->mesh().ToString();
  const double two =
      std::min({SecondsOn(module, cluster, rates, *Mesh::Parse("x=8")),
                SecondsOn(module, cluster, rates, *Mesh::Parse("x=4,y=2")),
                SecondsOn(module, cluster, rates, *Mesh::Parse("x=2,y=4"))});
  EXPECT_LT(plan->predicted.step_seconds, 0.5 * two);
  EXPECT_LT(plan->gap, 0.05);
}

// All factorisations, each planned as if it had been asked for.
TEST(RefineMeshes, EqualsBruteForceOverMeshes) {
  for (const std::vector<int64_t>& batch : std::vector<std::vector<int64_t>>{
           {2, 2, 2}, {4, 2}, {2, 4, 2}, {8, 3}, {2, 16}}) {
    const Module module = Products(batch, 2);
    for (const char* text : {"h200:8", "h200:2x4", "h200:4x4"}) {
      const Cluster cluster = ClusterOf(text);
      for (const double times : {1e4, 1e6}) {
        const Rates rates = SlowRates(cluster, times);
        double best = std::numeric_limits<double>::infinity();
        std::string where;
        for (const Mesh& mesh : MeshesOn(cluster.device_count(), 3)) {
          const double seconds = SecondsOn(module, cluster, rates, mesh);
          if (seconds < best) where = mesh.ToString();
          best = std::min(best, seconds);
        }
        PlanRequest request;
        request.stages = 1;
        request.micro_batches = 1;
        const absl::StatusOr<Plan> plan =
            MakePlan(module, cluster, rates, request);
        ASSERT_TRUE(plan.ok()) << plan.status();
        EXPECT_LE(plan->predicted.step_seconds, best * (1 + 1e-3))
            << text << " " << batch.size() << " " << where << " against "
            << plan->mesh().ToString();
      }
    }
  }
}

}  // namespace
}  // namespace meshwright
