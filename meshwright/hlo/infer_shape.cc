#include "meshwright/hlo/infer_shape.h"

#include <array>
#include <limits>

#include "meshwright/base/status_macros.h"
#include "meshwright/hlo/infer_instruction.h"
#include "meshwright/hlo/infer_rules.h"
#include "meshwright/hlo/opcode_traits.h"
#include "meshwright/hlo/shape_checks.h"

namespace meshwright {
namespace {

struct Count {
  size_t min;
  size_t max;

  bool Allows(size_t count) const { return min <= count && count <= max; }
};

constexpr size_t kMany = std::numeric_limits<size_t>::max();
constexpr Count kNone = {0, 0};
constexpr Count k1 = {1, 1};
constexpr Count k2 = {2, 2};
constexpr Count k3 = {3, 3};
constexpr Count k4 = {4, 4};
constexpr Count k5 = {5, 5};
constexpr Count k6 = {6, 6};
constexpr Count kAtMost1 = {0, 1};
constexpr Count kAtLeast1 = {1, kMany};
constexpr Count kAtLeast2 = {2, kMany};
constexpr Count kAtLeast3 = {3, kMany};
constexpr Count kAny = {0, kMany};

struct RuleRow {
  Opcode opcode = Opcode::kUnknown;
  Count operands = kAny;
  Count called = kAny;
  InferenceRule rule = InferOwn;
};

constexpr RuleRow kRuleRows[] = {
    {Opcode::kAbs, k1, kNone, InferUnary},
    {Opcode::kAcos, k1, kNone, InferUnary},
    {Opcode::kAcosh, k1, kNone, InferUnary},
    {Opcode::kAdd, k2, kNone, InferBinary},
    {Opcode::kAddDependency, k2, kNone, InferAddDependency},
    {Opcode::kAfterAll, kAny, kNone, InferAfterAll},
    {Opcode::kAllGather, kAtLeast1, kNone, InferAllGather},
    {Opcode::kAllGatherDone, k1, kNone, InferOwn},
    {Opcode::kAllGatherStart, kAtLeast1, kNone, InferOwn},
    {Opcode::kAllReduce, kAtLeast1, k1, InferAllReduce},
    {Opcode::kAllReduceDone, k1, kNone, InferOwn},
    {Opcode::kAllReduceStart, kAtLeast1, k1, InferOwn},
    {Opcode::kAllToAll, kAtLeast1, kNone, InferAllToAll},
    {Opcode::kAnd, k2, kNone, InferBinary},
    {Opcode::kAsin, k1, kNone, InferUnary},
    {Opcode::kAsinh, k1, kNone, InferUnary},
    {Opcode::kAsyncDone, k1, kAtMost1, InferOwn},
    {Opcode::kAsyncStart, kAny, k1, InferOwn},
    {Opcode::kAsyncUpdate, k1, kAtMost1, InferOwn},
    {Opcode::kAtan2, k2, kNone, InferBinary},
    {Opcode::kAtanh, k1, kNone, InferUnary},
    {Opcode::kBatchNormGrad, k5, kNone, InferBatchNorm},
    {Opcode::kBatchNormInference, k5, kNone, InferBatchNorm},
    {Opcode::kBatchNormTraining, k3, kNone, InferBatchNorm},
    {Opcode::kBitcast, k1, kNone, InferBitcast},
    {Opcode::kBitcastConvert, k1, kNone, InferBitcastConvert},
    {Opcode::kBroadcast, k1, kNone, InferBroadcast},
    {Opcode::kCall, kAny, k1, InferCallee},
    {Opcode::kCbrt, k1, kNone, InferUnary},
    {Opcode::kCeil, k1, kNone, InferUnary},
    {Opcode::kCholesky, k1, kNone, InferCholesky},
    {Opcode::kClamp, k3, kNone, InferClamp},
    {Opcode::kCollectiveBroadcast, kAtLeast1, kNone, InferAllReduce},
    {Opcode::kCollectivePermute, kAtLeast1, kNone, InferCollectivePermute},
    {Opcode::kCollectivePermuteDone, k1, kNone, InferOwn},
    {Opcode::kCollectivePermuteStart, kAtLeast1, kNone, InferOwn},
    {Opcode::kCollectiveReduce, kAtLeast1, kAtMost1, InferOwn},
    {Opcode::kCompare, k2, kNone, InferBinary},
    {Opcode::kComplex, k2, kNone, InferBinary},
    {Opcode::kConcatenate, kAtLeast1, kNone, InferConcatenate},
    {Opcode::kConditional, kAtLeast2, kAtLeast1, InferConditional},
    {Opcode::kConstant, kNone, kNone, InferOwn},
    {Opcode::kConvert, k1, kNone, InferConvert},
    {Opcode::kConvolution, k2, kNone, InferConvolution},
    {Opcode::kCopy, k1, kNone, InferFirstOperand},
    {Opcode::kCopyDone, k1, kNone, InferOwn},
    {Opcode::kCopyStart, k1, kNone, InferOwn},
    {Opcode::kCosh, k1, kNone, InferUnary},
    {Opcode::kCosine, k1, kNone, InferUnary},
    {Opcode::kCountLeadingZeros, k1, kNone, InferUnary},
    {Opcode::kCustomCall, kAny, kAny, InferOwn},
    {Opcode::kDivide, k2, kNone, InferBinary},
    {Opcode::kDomain, k1, kNone, InferFirstOperand},
    {Opcode::kDot, kAtLeast2, kNone, InferDot},
    {Opcode::kDynamicReshape, kAtLeast1, kNone, InferDynamicReshape},
    {Opcode::kDynamicSlice, kAtLeast1, kNone, InferDynamicSlice},
    {Opcode::kDynamicUpdateSlice, kAtLeast2, kNone, InferDynamicUpdateSlice},
    {Opcode::kErf, k1, kNone, InferUnary},
    {Opcode::kExponential, k1, kNone, InferUnary},
    {Opcode::kExponentialMinusOne, k1, kNone, InferUnary},
    {Opcode::kFft, k1, kNone, InferFft},
    {Opcode::kFloor, k1, kNone, InferUnary},
    {Opcode::kFusion, kAny, k1, InferCallee},
    {Opcode::kGather, k2, kNone, InferGather},
    {Opcode::kGetDimensionSize, k1, kNone, InferGetDimensionSize},
    {Opcode::kGetTupleElement, k1, kNone, InferGetTupleElement},
    {Opcode::kImag, k1, kNone, InferUnary},
    {Opcode::kInfeed, k1, kNone, InferInfeed},
    {Opcode::kIota, kNone, kNone, InferIota},
    {Opcode::kIsFinite, k1, kNone, InferUnary},
    {Opcode::kLog, k1, kNone, InferUnary},
    {Opcode::kLogPlusOne, k1, kNone, InferUnary},
    {Opcode::kLogistic, k1, kNone, InferUnary},
    {Opcode::kMap, kAtLeast1, k1, InferMap},
    {Opcode::kMaximum, k2, kNone, InferBinary},
    {Opcode::kMinimum, k2, kNone, InferBinary},
    {Opcode::kMulhi, k2, kNone, InferBinary},
    {Opcode::kMultiply, k2, kNone, InferBinary},
    {Opcode::kNegate, k1, kNone, InferUnary},
    {Opcode::kNot, k1, kNone, InferUnary},
    {Opcode::kOptBarrier, k1, kNone, InferFirstOperand},
    {Opcode::kOr, k2, kNone, InferBinary},
    {Opcode::kOutfeed, k2, kNone, InferOutfeed},
    {Opcode::kPad, k2, kNone, InferPad},
    {Opcode::kParameter, kNone, kNone, InferOwn},
    {Opcode::kPartitionId, kNone, kNone, InferReplicaId},
    {Opcode::kPopcnt, k1, kNone, InferUnary},
    {Opcode::kPower, k2, kNone, InferBinary},
    {Opcode::kRaggedAllToAll, k6, kNone, InferRaggedAllToAll},
    {Opcode::kRaggedDot, k3, kNone, InferRaggedDot},
    {Opcode::kReal, k1, kNone, InferUnary},
    {Opcode::kRecv, k1, kNone, InferOwn},
    {Opcode::kRecvDone, k1, kNone, InferOwn},
    {Opcode::kReduce, kAtLeast2, k1, InferReduce},
    {Opcode::kReducePrecision, k1, kNone, InferReducePrecision},
    {Opcode::kReduceScatter, kAtLeast1, k1, InferReduceScatter},
    {Opcode::kReduceWindow, kAtLeast2, k1, InferReduceWindow},
    {Opcode::kRemainder, k2, kNone, InferBinary},
    {Opcode::kReplicaId, kNone, kNone, InferReplicaId},
    {Opcode::kReshape, k1, kNone, InferReshape},
    {Opcode::kReverse, k1, kNone, InferReverse},
    {Opcode::kRng, k2, kNone, InferRng},
    {Opcode::kRngBitGenerator, k1, kNone, InferRngBitGenerator},
    {Opcode::kRngGetAndUpdateState, kNone, kNone, InferRngState},
    {Opcode::kRoundNearestAfz, k1, kNone, InferUnary},
    {Opcode::kRoundNearestEven, k1, kNone, InferUnary},
    {Opcode::kRsqrt, k1, kNone, InferUnary},
    {Opcode::kScaledDot, k4, kNone, InferOwn},
    {Opcode::kScan, kAny, k1, InferOwn},
    {Opcode::kScatter, kAtLeast3, k1, InferScatter},
    {Opcode::kSelect, k3, kNone, InferSelect},
    {Opcode::kSelectAndScatter, k3, k2, InferSelectAndScatter},
    {Opcode::kSend, k2, kNone, InferOwn},
    {Opcode::kSendDone, k1, kNone, InferOwn},
    {Opcode::kSetDimensionSize, k2, kNone, InferSetDimensionSize},
    {Opcode::kShiftLeft, k2, kNone, InferBinary},
    {Opcode::kShiftRightArithmetic, k2, kNone, InferBinary},
    {Opcode::kShiftRightLogical, k2, kNone, InferBinary},
    {Opcode::kSign, k1, kNone, InferUnary},
    {Opcode::kSine, k1, kNone, InferUnary},
    {Opcode::kSinh, k1, kNone, InferUnary},
    {Opcode::kSlice, k1, kNone, InferSlice},
    {Opcode::kSort, kAtLeast1, k1, InferSort},
    {Opcode::kSqrt, k1, kNone, InferUnary},
    {Opcode::kStochasticConvert, k2, kNone, InferStochasticConvert},
    {Opcode::kSubtract, k2, kNone, InferBinary},
    {Opcode::kTan, k1, kNone, InferUnary},
    {Opcode::kTanh, k1, kNone, InferUnary},
    {Opcode::kTopk, k1, kAtMost1, InferTopk},
    {Opcode::kTranspose, k1, kNone, InferTranspose},
    {Opcode::kTriangularSolve, k2, kNone, InferTriangularSolve},
    {Opcode::kTuple, kAny, kNone, InferTuple},
    {Opcode::kWhile, k1, k2, InferFirstOperand},
    {Opcode::kXor, k2, kNone, InferBinary},
};

constexpr std::array<RuleRow, kOpcodeCount> RowsByOpcode() {
  std::array<RuleRow, kOpcodeCount> rows = {};
  for (const RuleRow& row : kRuleRows)
    rows[static_cast<size_t>(row.opcode)] = row;
  return rows;
}

constexpr std::array<RuleRow, kOpcodeCount> kRowOf = RowsByOpcode();
static_assert(std::size(kRuleRows) + 1 == kOpcodeCount, "one row per opcode");

absl::Status WrongCount(absl::string_view what, const Count& want, size_t got) {
  const std::string range = want.min == want.max ? absl::StrCat(want.min)
                            : want.max == kMany
                                ? absl::StrCat("at least ", want.min)
                                : absl::StrCat(want.min, " to ", want.max);
  return Bad("wrong number of ", what, "; expected ", range, ", got ", got);
}

}  // namespace

absl::StatusOr<Inferred> InferInstruction(const Instruction& instruction) {
  const RuleRow& row = kRowOf[static_cast<size_t>(instruction.opcode)];
  if (!row.operands.Allows(instruction.operands.size())) {
    return WrongCount("operands", row.operands, instruction.operands.size());
  }
  if (!row.called.Allows(instruction.called.size())) {
    return WrongCount("called computations", row.called,
                      instruction.called.size());
  }
  return row.rule(instruction);
}

absl::StatusOr<std::optional<Shape>> InferShape(
    const Instruction& instruction) {
  MW_ASSIGN_OR_RETURN(const Inferred inferred, InferInstruction(instruction));
  return inferred.ToShape();
}

}  // namespace meshwright
