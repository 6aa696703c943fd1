#include "meshwright/hlo/opcode_traits.h"

#include <vector>

#include "gtest/gtest.h"

namespace meshwright {
namespace {

const std::vector<Opcode>& EveryOpcode() {
  static const std::vector<Opcode>* const every = new std::vector<Opcode>{
#define MW_LIST(symbol, name) Opcode::symbol,
      MW_HLO_OPCODES(MW_LIST)
#undef MW_LIST
  };
  return *every;
}

TEST(OpcodeTraitsTest, KindsExcludeEachOther) {
  for (const Opcode opcode : EveryOpcode()) {
    const int kinds = IsElementwise(opcode) + IsMovement(opcode) +
                      KeepsBytes(opcode) + IsContraction(opcode) +
                      IsCollective(opcode) + IsDeviceId(opcode) +
                      IsHostExchange(opcode) + IsControlFlow(opcode) +
                      IsBarrier(opcode) + IsDynamicSize(opcode);
    EXPECT_LE(kinds, 1) << Name(opcode);
    EXPECT_FALSE(IsArithmetic(opcode) && IsTranscendental(opcode))
        << Name(opcode);
    EXPECT_LE(IsArithmetic(opcode) + IsTranscendental(opcode),
              IsElementwise(opcode))
        << Name(opcode);
  }
}

TEST(OpcodeTraitsTest, SolversAndUnknownOpcodesAreNotElementwise) {
  for (const Opcode opcode :
       {Opcode::kTriangularSolve, Opcode::kCholesky, Opcode::kSort,
        Opcode::kFft, Opcode::kScan, Opcode::kRng, Opcode::kCustomCall,
        Opcode::kUnknown}) {
    EXPECT_FALSE(IsElementwise(opcode)) << Name(opcode);
  }
}

TEST(OpcodeTraitsTest, HalvesOfCollectivesAreBoth) {
  EXPECT_TRUE(IsCollective(Opcode::kAllReduceStart));
  EXPECT_TRUE(IsAsynchronous(Opcode::kAllReduceStart));
  EXPECT_FALSE(IsAsynchronous(Opcode::kAllReduce));
  EXPECT_TRUE(IsHostExchange(Opcode::kSendDone));
  EXPECT_FALSE(IsDone(Opcode::kAllReduceStart));
  EXPECT_TRUE(IsDone(Opcode::kAllReduceDone));
}

TEST(OpcodeTraitsTest, EveryCollectiveRunsOnce) {
  EXPECT_EQ(CollectiveOf(Opcode::kAllReduceStart), Opcode::kAllReduce);
  EXPECT_EQ(CollectiveOf(Opcode::kAllReduceDone), Opcode::kUnknown);
  EXPECT_EQ(CollectiveOf(Opcode::kSendDone), Opcode::kUnknown);
  for (const Opcode opcode : EveryOpcode()) {
    const Opcode collective = CollectiveOf(opcode);
    EXPECT_EQ(collective != Opcode::kUnknown,
              IsCollective(opcode) && !IsDone(opcode))
        << Name(opcode);
    EXPECT_FALSE(IsAsynchronous(collective)) << Name(opcode);
    if (collective == Opcode::kUnknown) continue;
    EXPECT_EQ(ReducesAcrossDevices(opcode), ReducesAcrossDevices(collective))
        << Name(opcode);
  }
}

TEST(OpcodeTraitsTest, OnlyKeylessDrawsHaveHiddenState) {
  EXPECT_TRUE(HasHiddenState(Opcode::kRng));
  EXPECT_FALSE(HasHiddenState(Opcode::kRngBitGenerator));
  EXPECT_FALSE(HasHiddenState(Opcode::kWhile));
}

TEST(OpcodeTraitsTest, CallsAreInlinedAndLoopsAreNot) {
  EXPECT_TRUE(IsLoopOrBranch(Opcode::kWhile));
  EXPECT_FALSE(IsLoopOrBranch(Opcode::kCall));
  EXPECT_TRUE(IsControlFlow(Opcode::kCall));
}

TEST(OpcodeTraitsTest, ElementsAreSelectedKeptOrReordered) {
  for (const Opcode opcode : EveryOpcode()) {
    if (KeepsElements(opcode)) {
      EXPECT_TRUE(SelectsElements(opcode));
    }
    if (IsArithmetic(opcode) && SelectsElements(opcode)) {
      EXPECT_TRUE(KeepsElements(opcode)) << Name(opcode);
    }
  }
  EXPECT_TRUE(SelectsElements(Opcode::kGather));
  EXPECT_FALSE(KeepsElements(Opcode::kGather));
  EXPECT_TRUE(KeepsElements(Opcode::kTranspose));
  EXPECT_FALSE(ReordersElements(Opcode::kReshape));
  EXPECT_FALSE(SelectsElements(Opcode::kPad));
}

TEST(OpcodeTraitsTest, NoOpsHaveNoOtherKindOfWork) {
  EXPECT_TRUE(IsNoOp(Opcode::kAddDependency));
  EXPECT_TRUE(IsNoOp(Opcode::kTuple));
  EXPECT_FALSE(IsNoOp(Opcode::kReshape));
  for (const Opcode opcode : EveryOpcode()) {
    if (!IsNoOp(opcode)) continue;
    EXPECT_FALSE(IsElementwise(opcode) || IsMovement(opcode) ||
                 IsContraction(opcode) || IsCollective(opcode) ||
                 IsControlFlow(opcode) || IsRewritten(opcode))
        << Name(opcode);
  }
}

}  // namespace
}  // namespace meshwright
