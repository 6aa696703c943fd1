#include "meshwright/search/reshard_tables.h"

#include <string>

#include "gtest/gtest.h"
#include "meshwright/hlo/read_text.h"
#include "meshwright/search/joint_reductions.h"
#include "meshwright/search/layers_for_test.h"

namespace meshwright {
namespace {

// y = x a b, and two gradients that nothing but outputs reads.
constexpr const char* kTwoGradients = R"(
HloModule step

ENTRY main {
  x = f32[8,16] parameter(0)
  a = f32[16,16] parameter(1)
  b = f32[16,16] parameter(2)
  xa = f32[8,16] dot(x, a), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  y = f32[8,16] dot(xa, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  da = f32[16,16] dot(x, y), lhs_contracting_dims={0}, rhs_contracting_dims={0}
  db = f32[16,16] dot(xa, y), lhs_contracting_dims={0}, rhs_contracting_dims={0}
  twice = f32[16,16] add(db, db)
  ROOT out = (f32[16,16], f32[16,16]) tuple(da, twice)
}
)";

class ReshardTablesTest : public ::testing::Test {
 protected:
  const GroupValue& Value(const std::string& name) const {
    for (GroupId g{0}; g < model_.groups.count(); ++g) {
      if (model_.op(g).kind == OpKind::kCompute &&
          model_.op(g).instruction->name == name) {
        return model_.values[model_.group_values[g][0]];
      }
    }
    ADD_FAILURE() << name;
    return model_.values[0];
  }

  // Of all-reducing partial sums.
  double AllReduce(const GroupValue& value, double further_array) {
    const Sharding whole = Sharding::Replicated(value.shape->dimensions);
    Sharding partial = whole;
    partial.pending.push_back(AxisId{0});
    const ShardingId from = pool_.Intern(partial);
    const ShardingId to = pool_.Intern(whole);
    ReshardTables tables(pool_, further_array, resharder_, problem_);
    return tables.Seconds(value, from, to);
  }

  const Module module_ = *ReadModuleText(kTwoGradients);
  const StepModel model_ = ModelStep(module_, FusionStyleFor(true));
  const MeshTask task_ = TaskOn("d=2");
  Resharder resharder_{&task_.mesh, task_.prices};
  ShardingPool pool_;
  Problem problem_;
  const double latency_ = task_.prices.collective.latency;
};

TEST_F(ReshardTablesTest, WhatNothingReducesAfterwardsIsReducedAtOnce) {
  EXPECT_EQ(Value("da").latency_share, 0.5);
  EXPECT_EQ(Value("db").latency_share, 0.5);
  EXPECT_EQ(Value("twice").latency_share, 0.5);  // Summed before or after.
  EXPECT_EQ(Value("y").latency_share, 1);
  EXPECT_EQ(Value("xa").latency_share, 1);
}

TEST_F(ReshardTablesTest, ALatencyIsShared) {
  const double alone = AllReduce(Value("y"), 0);
  GroupValue as_large = Value("da");
  as_large.shape = Value("y").shape;
  EXPECT_NEAR(AllReduce(as_large, 0), alone - latency_ / 2, 1e-15);
  // Each further array takes a latency of its own.
  EXPECT_NEAR(AllReduce(as_large, 1), alone, 1e-15);
  EXPECT_NEAR(AllReduce(as_large, 0.5), alone - latency_ / 4, 1e-15);
}

// One as large as what is combined takes all of the latency.
TEST_F(ReshardTablesTest, UnlessTheReductionIsLargeItself) {
  const Shape large = Shape::Array(ElementType::kF32, {4096, 4096});
  GroupValue alone{.shape = &large};
  GroupValue joint{.shape = &large, .latency_share = 0.01};
  EXPECT_EQ(AllReduce(joint, 0), AllReduce(alone, 0));
}

}  // namespace
}  // namespace meshwright
