#include "meshwright/planner/what_fits.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/mesh/cluster_file.h"
#include "meshwright/planner/planner.h"
#include "meshwright/search/zoo_for_test.h"

namespace meshwright {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(DoesNotFit, SaysWhatWouldInOneLine) {
  WhatFits fits{.memory_gib = "2", .memory_bytes = int64_t{2} << 30};
  EXPECT_EQ(DoesNotFit(fits, 8, 1 << 30).message(),
            "the step does not fit into 1.00 GiB on each of 8 devices; "
            "2.00 GiB would do (--memory 2)");
  fits.devices = 16;
  EXPECT_EQ(DoesNotFit(fits, 8, 1 << 30).message(),
            "the step does not fit into 1.00 GiB on each of 8 devices; "
            "2.00 GiB would do (--memory 2), or 16 such devices");
  fits.no_micro_batches = "sum.7: needed by all";
  EXPECT_EQ(DoesNotFit(fits, 8, 1 << 30).message(),
            "the step does not fit into 1.00 GiB on each of 8 devices; "
            "2.00 GiB would do (--memory 2), or 16 such devices; micro-batches "
            "would take less, but cannot be: sum.7: needed by all");
  EXPECT_EQ(DoesNotFit({.devices = 16}, 8, 1 << 30).message(),
            "the step does not fit into 1.00 GiB on each of 8 devices; "
            "16 such devices would do");
}

TEST(StagesDoNotFit, SaysWhatWould) {
  Plan plan(PlannedLayout{.mesh = *Mesh::Parse("data=1")});
  plan.pipeline.emplace().stages.resize(3);
  plan.predicted.peak_bytes = (int64_t{2} << 30) - 10;
  EXPECT_EQ(
      std::string(StagesDoNotFit(plan, 1 << 30).message()),
      "with 3 stages the step does not fit into 1.00 GiB on each device; "
      "2.00 GiB would do (--memory 2.00), and without --stages any number "
      "is tried");
}

absl::Status PlanIn(const char* model, int64_t memory_bytes) {
  const Module module = ReadTiny(model);
  const absl::StatusOr<Cluster> cluster = ParseClusterSpec("h200:2", {});
  EXPECT_TRUE(cluster.ok()) << cluster.status();
  PlanRequest request;
  request.memory_bytes = memory_bytes;
  // Pins, if only none: more devices are then not looked at.
  request.annotations = [](const Mesh&) { return Annotations(); };
  return MakePlan(module, *cluster, AssumedRates(*cluster), request).status();
}

// Batch norm needs sums over the batch before it goes on.
TEST(MakePlan, SaysThatMicroBatchesAreNoWayOut) {
  const absl::Status coupled = PlanIn("wide_resnet", 1000);
  EXPECT_EQ(coupled.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(coupled.message(),
              AllOf(HasSubstr("does not fit into 1000 B"),
                    HasSubstr("cannot be: "), HasSubstr("reduce_sum")));
  const absl::Status apart = PlanIn("vit", 1000);
  EXPECT_EQ(apart.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(apart.message(), Not(HasSubstr("cannot be: ")));
}

}  // namespace
}  // namespace meshwright
