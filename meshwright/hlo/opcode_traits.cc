#include "meshwright/hlo/opcode_traits.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace meshwright {
namespace {

enum Traits : uint16_t {
  kElementwise = 1 << 0,
  kArithmetic = kElementwise | 1 << 1,
  kTranscendental = kElementwise | 1 << 2,
  kMovement = 1 << 3,
  kSameBytes = 1 << 4,
  kContraction = 1 << 5,
  // Elements of the result depend on many elements of an operand.
  kAcross = 1 << 6,
  kCollective = 1 << 7,
  kDeviceId = 1 << 8,
  kHostExchange = 1 << 9,
  kControlFlow = 1 << 10,
  kBarrier = 1 << 11,
  kAsynchronous = 1 << 12,
  kDynamicSize = 1 << 13,
  kRandom = 1 << 14,
  // No work of their own, or work that depends on the instruction.
  kStructure = 0,
  kOwnRules = 0,
};

struct Row {
  Opcode opcode = Opcode::kUnknown;
  int traits = 0;
};

constexpr auto kRows = std::to_array<Row>({
    {Opcode::kUnknown, kOwnRules},
    {Opcode::kAbs, kArithmetic},
    {Opcode::kAcos, kTranscendental},
    {Opcode::kAcosh, kTranscendental},
    {Opcode::kAdd, kArithmetic},
    {Opcode::kAddDependency, kBarrier},
    {Opcode::kAfterAll, kStructure},
    {Opcode::kAllGather, kCollective},
    {Opcode::kAllGatherDone, kCollective | kAsynchronous},
    {Opcode::kAllGatherStart, kCollective | kAsynchronous},
    {Opcode::kAllReduce, kCollective},
    {Opcode::kAllReduceDone, kCollective | kAsynchronous},
    {Opcode::kAllReduceStart, kCollective | kAsynchronous},
    {Opcode::kAllToAll, kCollective},
    {Opcode::kAnd, kArithmetic},
    {Opcode::kAsin, kTranscendental},
    {Opcode::kAsinh, kTranscendental},
    {Opcode::kAsyncDone, kAsynchronous},
    {Opcode::kAsyncStart, kAsynchronous},
    {Opcode::kAsyncUpdate, kAsynchronous},
    {Opcode::kAtan2, kTranscendental},
    {Opcode::kAtanh, kTranscendental},
    {Opcode::kBatchNormGrad, kAcross},
    {Opcode::kBatchNormInference, kAcross},
    {Opcode::kBatchNormTraining, kAcross},
    {Opcode::kBitcast, kSameBytes},
    {Opcode::kBitcastConvert, kSameBytes},
    {Opcode::kBroadcast, kMovement},
    {Opcode::kCall, kControlFlow},
    {Opcode::kCbrt, kTranscendental},
    {Opcode::kCeil, kArithmetic},
    {Opcode::kCholesky, kAcross},
    {Opcode::kClamp, kArithmetic},
    {Opcode::kCollectiveBroadcast, kCollective},
    {Opcode::kCollectivePermute, kCollective},
    {Opcode::kCollectivePermuteDone, kCollective | kAsynchronous},
    {Opcode::kCollectivePermuteStart, kCollective | kAsynchronous},
    {Opcode::kCollectiveReduce, kCollective},
    {Opcode::kCompare, kArithmetic},
    {Opcode::kComplex, kArithmetic},
    {Opcode::kConcatenate, kMovement},
    {Opcode::kConditional, kControlFlow},
    {Opcode::kConstant, kStructure},
    {Opcode::kConvert, kArithmetic},
    {Opcode::kConvolution, kContraction},
    {Opcode::kCopy, kElementwise},
    {Opcode::kCopyDone, kAsynchronous},
    {Opcode::kCopyStart, kAsynchronous},
    {Opcode::kCosh, kTranscendental},
    {Opcode::kCosine, kTranscendental},
    {Opcode::kCountLeadingZeros, kArithmetic},
    {Opcode::kCustomCall, kOwnRules},
    {Opcode::kDivide, kArithmetic},
    {Opcode::kDomain, kBarrier},
    {Opcode::kDot, kContraction},
    {Opcode::kDynamicReshape, kDynamicSize},
    {Opcode::kDynamicSlice, kMovement},
    {Opcode::kDynamicUpdateSlice, kMovement},
    {Opcode::kErf, kTranscendental},
    {Opcode::kExponential, kTranscendental},
    {Opcode::kExponentialMinusOne, kTranscendental},
    {Opcode::kFft, kAcross},
    {Opcode::kFloor, kArithmetic},
    {Opcode::kFusion, kOwnRules},
    {Opcode::kGather, kMovement},
    {Opcode::kGetDimensionSize, kOwnRules},
    {Opcode::kGetTupleElement, kStructure},
    {Opcode::kImag, kArithmetic},
    {Opcode::kInfeed, kHostExchange},
    {Opcode::kIota, kMovement},
    {Opcode::kIsFinite, kArithmetic},
    {Opcode::kLog, kTranscendental},
    {Opcode::kLogPlusOne, kTranscendental},
    {Opcode::kLogistic, kTranscendental},
    {Opcode::kMap, kElementwise},
    {Opcode::kMaximum, kArithmetic},
    {Opcode::kMinimum, kArithmetic},
    {Opcode::kMulhi, kArithmetic},
    {Opcode::kMultiply, kArithmetic},
    {Opcode::kNegate, kArithmetic},
    {Opcode::kNot, kArithmetic},
    {Opcode::kOptBarrier, kBarrier},
    {Opcode::kOr, kArithmetic},
    {Opcode::kOutfeed, kHostExchange},
    {Opcode::kPad, kMovement},
    {Opcode::kParameter, kStructure},
    {Opcode::kPartitionId, kDeviceId},
    {Opcode::kPopcnt, kArithmetic},
    {Opcode::kPower, kTranscendental},
    {Opcode::kRaggedAllToAll, kCollective},
    {Opcode::kRaggedDot, kContraction},
    {Opcode::kReal, kArithmetic},
    {Opcode::kRecv, kHostExchange},
    {Opcode::kRecvDone, kHostExchange | kAsynchronous},
    {Opcode::kReduce, kAcross},
    {Opcode::kReducePrecision, kArithmetic},
    {Opcode::kReduceScatter, kCollective},
    {Opcode::kReduceWindow, kAcross},
    {Opcode::kRemainder, kArithmetic},
    {Opcode::kReplicaId, kDeviceId},
    {Opcode::kReshape, kSameBytes},
    {Opcode::kReverse, kMovement},
    {Opcode::kRng, kRandom},
    {Opcode::kRngBitGenerator, kRandom},
    {Opcode::kRngGetAndUpdateState, kRandom},
    {Opcode::kRoundNearestAfz, kArithmetic},
    {Opcode::kRoundNearestEven, kArithmetic},
    {Opcode::kRsqrt, kTranscendental},
    {Opcode::kScaledDot, kContraction},
    {Opcode::kScan, kAcross},
    {Opcode::kScatter, kAcross},
    {Opcode::kSelect, kArithmetic},
    {Opcode::kSelectAndScatter, kAcross},
    {Opcode::kSend, kHostExchange},
    {Opcode::kSendDone, kHostExchange | kAsynchronous},
    {Opcode::kSetDimensionSize, kDynamicSize},
    {Opcode::kShiftLeft, kArithmetic},
    {Opcode::kShiftRightArithmetic, kArithmetic},
    {Opcode::kShiftRightLogical, kArithmetic},
    {Opcode::kSign, kArithmetic},
    {Opcode::kSine, kTranscendental},
    {Opcode::kSinh, kTranscendental},
    {Opcode::kSlice, kMovement},
    {Opcode::kSort, kAcross},
    {Opcode::kSqrt, kTranscendental},
    {Opcode::kStochasticConvert, kArithmetic},
    {Opcode::kSubtract, kArithmetic},
    {Opcode::kTan, kTranscendental},
    {Opcode::kTanh, kTranscendental},
    {Opcode::kTopk, kAcross},
    {Opcode::kTranspose, kMovement},
    {Opcode::kTriangularSolve, kAcross},
    {Opcode::kTuple, kStructure},
    {Opcode::kWhile, kControlFlow},
    {Opcode::kXor, kArithmetic},
});

// A row per opcode, in the order of the enum.
constexpr bool IsComplete() {
  if (kRows.size() != kOpcodeCount) return false;
  for (size_t i = 0; i < kRows.size(); ++i) {
    if (static_cast<size_t>(kRows[i].opcode) != i) return false;
  }
  return true;
}
static_assert(IsComplete());

bool Has(Opcode opcode, Traits wanted) {
  return (kRows[static_cast<size_t>(opcode)].traits & wanted) == wanted;
}

}  // namespace

bool IsElementwise(Opcode opcode) { return Has(opcode, kElementwise); }
bool IsArithmetic(Opcode opcode) { return Has(opcode, kArithmetic); }
bool IsTranscendental(Opcode opcode) { return Has(opcode, kTranscendental); }
bool IsMovement(Opcode opcode) { return Has(opcode, kMovement); }
bool KeepsBytes(Opcode opcode) { return Has(opcode, kSameBytes); }
bool IsContraction(Opcode opcode) { return Has(opcode, kContraction); }
bool IsCollective(Opcode opcode) { return Has(opcode, kCollective); }
bool IsDeviceId(Opcode opcode) { return Has(opcode, kDeviceId); }
bool IsHostExchange(Opcode opcode) { return Has(opcode, kHostExchange); }
bool IsControlFlow(Opcode opcode) { return Has(opcode, kControlFlow); }
bool IsBarrier(Opcode opcode) { return Has(opcode, kBarrier); }
bool IsAsynchronous(Opcode opcode) { return Has(opcode, kAsynchronous); }
bool IsDynamicSize(Opcode opcode) { return Has(opcode, kDynamicSize); }

}  // namespace meshwright
