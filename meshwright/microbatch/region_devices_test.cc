#include "meshwright/microbatch/region_devices.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace meshwright {
namespace {

using Groups = std::vector<std::vector<int64_t>>;

Mesh TwoByTwo() { return *Mesh::Parse("data=2,model=2"); }

Instruction Collective(Opcode opcode, Groups groups) {
  Instruction instruction;
  instruction.opcode = opcode;
  instruction.attributes.mutate().replica_groups = std::move(groups);
  return instruction;
}

std::string Names(uint32_t bits) { return AxisNames(bits, TwoByTwo()); }

TEST(VaryingAxesTest, AreThoseAlongWhichValuesDiffer) {
  EXPECT_EQ(Names(VaryingAxes({0, 1, 2, 3}, TwoByTwo())), "data,model");
  EXPECT_EQ(Names(VaryingAxes({0, 1, 0, 1}, TwoByTwo())), "model");
  EXPECT_EQ(Names(VaryingAxes({5, 5, 6, 6}, TwoByTwo())), "data");
  EXPECT_EQ(Names(VaryingAxes({5, 5, 5, 5}, TwoByTwo())), "");
}

struct ReachCase {
  const char* name;
  Opcode opcode;
  Groups groups;
  const char* axes;
  const char* differs;
  bool is_complete;
};

class ReachTest : public testing::TestWithParam<ReachCase> {};

TEST_P(ReachTest, FollowsFromTheGroups) {
  const ReachCase& test = GetParam();
  const Reach reach = ReachOf(Collective(test.opcode, test.groups), TwoByTwo());
  EXPECT_EQ(Names(reach.axes), test.axes);
  EXPECT_EQ(Names(reach.differs), test.differs);
  EXPECT_EQ(reach.is_complete, test.is_complete);
}

INSTANTIATE_TEST_SUITE_P(
    Groups, ReachTest,
    testing::ValuesIn<ReachCase>({
        {"AlongOneAxis",
         Opcode::kAllReduce,
         {{0, 2}, {1, 3}},
         "data",
         "",
         true},
        {"AmongAll", Opcode::kAllReduce, {}, "data,model", "", true},
        {"PartsDiffer",
         Opcode::kReduceScatter,
         {{0, 1}, {2, 3}},
         "model",
         "model",
         true},
        {"SomeGroupsAlone",
         Opcode::kAllReduce,
         {{0, 1}, {2}, {3}},
         "model",
         "data,model",
         false},
        {"InAnotherOrder",
         Opcode::kAllGather,
         {{1, 0}, {2, 3}},
         "model",
         "data,model",
         false},
    }),
    [](const auto& test) { return test.param.name; });

TEST(ReachTest, PermutationsThatAreNotTheSameEverywhere) {
  Instruction permute;
  permute.opcode = Opcode::kCollectivePermute;
  auto& pairs = permute.attributes.mutate().source_target_pairs;
  pairs = {{0, 1}, {1, 0}, {2, 3}, {3, 2}};
  EXPECT_EQ(Names(ReachOf(permute, TwoByTwo()).axes), "model");
  EXPECT_EQ(Names(ReachOf(permute, TwoByTwo()).differs), "model");
  pairs = {{0, 1}, {1, 0}};
  EXPECT_EQ(Names(ReachOf(permute, TwoByTwo()).differs), "data,model");
  // Everywhere the first sends to the second, which gets what others do not.
  pairs = {{0, 1}, {2, 3}};
  EXPECT_EQ(Names(ReachOf(permute, TwoByTwo()).differs), "model");
}

}  // namespace
}  // namespace meshwright
