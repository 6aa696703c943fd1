#include "meshwright/cost/launches.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace meshwright {
namespace {

using ::testing::ElementsAre;

std::vector<double> SecondsOf(const std::vector<Opcode>& opcodes) {
  std::vector<Instruction> roots(opcodes.size());
  std::vector<Kernel> kernels(opcodes.size());
  for (size_t i = 0; i < opcodes.size(); ++i) {
    roots[i].opcode = opcodes[i];
    kernels[i].root = &roots[i];
  }
  Rates rates;
  rates.launch_seconds.value = 1;
  rates.graph_seconds.value = 10;
  rates.library_seconds.value = 100;
  return LaunchSeconds(kernels, rates);
}

TEST(LaunchSecondsTest, KernelsThatFollowEachOtherAreAGraph) {
  EXPECT_THAT(SecondsOf({Opcode::kAdd, Opcode::kDot, Opcode::kReduce,
                         Opcode::kAdd, Opcode::kDot}),
              ElementsAre(10, 0, 0, 0, 0));
}

TEST(LaunchSecondsTest, FewAreStartedByThemselves) {
  EXPECT_THAT(SecondsOf({Opcode::kAdd, Opcode::kDot}), ElementsAre(1, 1));
}

TEST(LaunchSecondsTest, LibrariesCollectivesAndLoopsLieBetweenGraphs) {
  const Opcode add = Opcode::kAdd;
  EXPECT_THAT(SecondsOf({add, add, Opcode::kConvolution, add, add, add, add,
                         add, Opcode::kAllReduce, Opcode::kWhile, add}),
              ElementsAre(1, 1, 100, 10, 0, 0, 0, 0, 1, 0, 1));
}

}  // namespace
}  // namespace meshwright
