#include "meshwright/partition/take_islands.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/annotations/infer_mesh.h"
#include "meshwright/annotations/island_fit.h"
#include "meshwright/annotations/testdata_for_test.h"
#include "meshwright/hlo/verify.h"
#include "meshwright/partition/islands_only.h"
#include "meshwright/rules/island.h"

namespace meshwright {
namespace {

using testing::HasSubstr;

class TakeIslandsTest : public testing::TestWithParam<const char*> {
 protected:
  // shard_map(psum over data)(x) + 1 on data=4,model=2.
  static Module Manual() {
    return ReadTestModule(std::string("manual.") + GetParam());
  }
  static bool HasNames() {
    return std::string(GetParam()).starts_with("shardy");
  }
};

TEST_P(TakeIslandsTest, RegionsBecomeOneOperation) {
  ASSERT_TRUE(HasManualRegions(Manual()));
  const absl::StatusOr<Module> module = TakeIslands(Manual());
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_TRUE(Verify(*module).ok()) << Verify(*module);
  EXPECT_FALSE(HasManualRegions(*module));
  const std::vector<const Instruction*> islands = IslandsIn(*module);
  ASSERT_EQ(islands.size(), 1);
  const absl::StatusOr<Island> island = IslandOf(*islands[0]);
  ASSERT_TRUE(island.ok()) << island.status();
  EXPECT_EQ(ToString(*island), HasNames()
                                   ? "data=4,model=2: [data, -] -> [-, -]"
                                   : "a=4,b=2: [a, -] -> [-, -]");
  EXPECT_EQ(islands[0]->operands[0]->opcode, Opcode::kParameter);
  int collectives = 0;
  for (const auto& instruction : islands[0]->called[0]->instructions()) {
    EXPECT_FALSE(instruction->sharding.has_value());
    EXPECT_NE(instruction->opcode, Opcode::kCustomCall);
    collectives += instruction->opcode == Opcode::kAllReduce ? 1 : 0;
  }
  EXPECT_EQ(collectives, 1);
}

TEST_P(TakeIslandsTest, TheirMeshIsTheModules) {
  const Module module = *TakeIslands(Manual());
  const absl::StatusOr<Mesh> mesh = InferMesh(module);
  ASSERT_TRUE(mesh.ok()) << mesh.status();
  EXPECT_EQ(mesh->ToString(), HasNames() ? "data=4,model=2" : "a=4,b=2");
  EXPECT_TRUE(CheckIslands(module, *Mesh::Parse("x=2,y=4,z=2")).ok());
  EXPECT_THAT(
      CheckIslands(module, *Mesh::Parse("x=6")).message(),
      HasSubstr(HasNames() ? "shard_map needs axes data=4,model=2, which the "
                             "mesh x=6 does not have; give --mesh "
                             "data=4,model=2"
                           : "shard_map needs axes a=4,b=2"));
}

TEST_P(TakeIslandsTest, AreSplitWhateverElseIsNot) {
  const Module module = *TakeIslands(Manual());
  const absl::StatusOr<Partitioned> split =
      PartitionIslandsOnly(module, *Mesh::Parse("d=8"));
  ASSERT_TRUE(split.ok()) << split.status();
  EXPECT_EQ(split->mesh.device_count(), 8);
  ASSERT_EQ(split->collectives.size(), 1);
  EXPECT_EQ(split->collectives[0].kind, "all-reduce");
  EXPECT_EQ(split->collectives[0].axes, HasNames() ? "data" : "a");
  EXPECT_EQ(split->collectives[0].devices, 4);
}

TEST_P(TakeIslandsTest, ArePartitionedOnAnyMeshThatHasTheirAxes) {
  const Module module = *TakeIslands(Manual());
  for (const char* text : {"data=4,model=2", "x=2,y=4", "x=2,y=2,z=2", "d=8",
                           "rest=3,model=2,data=4"}) {
    const absl::StatusOr<Partitioned> split =
        Partition(module, *Mesh::Parse(text), {});
    ASSERT_TRUE(split.ok()) << text << ": " << split.status();
    EXPECT_EQ(split->collectives[0].devices, 4) << text;
  }
  EXPECT_FALSE(Partition(module, *Mesh::Parse("data=2,model=2"), {}).ok());
}

INSTANTIATE_TEST_SUITE_P(Forms, TakeIslandsTest, testing::ValuesIn(kForms));

TEST(TakeIslandsErrorTest, TellWhatIsMissing) {
  Module module = ReadTestModule("manual.shardy.jax10");
  for (const auto& instruction : module.entry()->instructions()) {
    instruction->frontend_attributes.erase("xla.sdy.in_shardings");
  }
  EXPECT_THAT(TakeIslands(std::move(module)).status().message(),
              HasSubstr("does not say how its arrays are split"));
  Module other = ReadTestModule("manual.gspmd.jax10");
  for (const auto& instruction : other.entry()->instructions()) {
    if (instruction->attributes->custom_call_target == "SPMDFullToShardShape") {
      instruction->sharding.mutate().kind = OpSharding::Kind::kReplicated;
    }
  }
  EXPECT_THAT(TakeIslands(std::move(other)).status().message(),
              HasSubstr("does not say how its array is split"));
}

}  // namespace
}  // namespace meshwright
