#include "meshwright/hlo/opcode_traits.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace meshwright {
namespace {

enum Traits : uint32_t {
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
  kNoOp = 1 << 11,
  kBarrier = kNoOp | 1 << 12,
  kAsynchronous = 1 << 13,
  kDone = kAsynchronous | 1 << 14,
  kDynamicSize = 1 << 15,
  kRandom = 1 << 16,
  kSelects = 1 << 17,
  kKeepsElements = kSelects | 1 << 18,
  kReorders = 1 << 19,
  kLibrary = 1 << 20,
  kRewritten = 1 << 21,
  kShortCode = 1 << 22,
  kMakesEqual = 1 << 23,
  kAlongDimension = 1 << 24,
  kReducesAcross = kCollective | 1 << 25,
  kLoopOrBranch = kControlFlow | 1 << 26,
  kHiddenState = kRandom | 1 << 27,
  // Work that depends on the instruction.
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
    {Opcode::kAfterAll, kNoOp},
    {Opcode::kAllGather,
     kCollective | kSelects | kMakesEqual | kAlongDimension},
    {Opcode::kAllGatherDone, kCollective | kDone},
    {Opcode::kAllGatherStart, kCollective | kAsynchronous},
    {Opcode::kAllReduce, kReducesAcross | kMakesEqual},
    {Opcode::kAllReduceDone, kCollective | kDone},
    {Opcode::kAllReduceStart, kReducesAcross | kAsynchronous},
    {Opcode::kAllToAll, kCollective | kSelects | kAlongDimension},
    {Opcode::kAnd, kArithmetic},
    {Opcode::kAsin, kTranscendental},
    {Opcode::kAsinh, kTranscendental},
    {Opcode::kAsyncDone, kDone},
    {Opcode::kAsyncStart, kAsynchronous},
    {Opcode::kAsyncUpdate, kAsynchronous},
    {Opcode::kAtan2, kTranscendental},
    {Opcode::kAtanh, kTranscendental},
    {Opcode::kBatchNormGrad, kAcross},
    {Opcode::kBatchNormInference, kAcross},
    {Opcode::kBatchNormTraining, kAcross},
    {Opcode::kBitcast, kSameBytes | kKeepsElements | kNoOp},
    {Opcode::kBitcastConvert, kSameBytes},
    {Opcode::kBroadcast, kMovement | kSelects},
    {Opcode::kCall, kControlFlow},
    {Opcode::kCbrt, kTranscendental},
    {Opcode::kCeil, kArithmetic},
    {Opcode::kCholesky, kAcross | kLibrary | kRewritten},
    {Opcode::kClamp, kArithmetic},
    {Opcode::kCollectiveBroadcast, kCollective | kMakesEqual},
    {Opcode::kCollectivePermute, kCollective | kSelects},
    {Opcode::kCollectivePermuteDone, kCollective | kDone},
    {Opcode::kCollectivePermuteStart, kCollective | kAsynchronous},
    {Opcode::kCollectiveReduce, kReducesAcross},
    {Opcode::kCompare, kArithmetic},
    {Opcode::kComplex, kArithmetic},
    {Opcode::kConcatenate, kMovement | kReorders},
    {Opcode::kConditional, kLoopOrBranch},
    {Opcode::kConstant, kNoOp},
    {Opcode::kConvert, kArithmetic | kKeepsElements},
    {Opcode::kConvolution, kContraction | kLibrary | kRewritten},
    {Opcode::kCopy, kElementwise | kKeepsElements},
    {Opcode::kCopyDone, kDone},
    {Opcode::kCopyStart, kAsynchronous},
    {Opcode::kCosh, kTranscendental},
    {Opcode::kCosine, kTranscendental},
    {Opcode::kCountLeadingZeros, kArithmetic},
    {Opcode::kCustomCall, kRewritten},
    {Opcode::kDivide, kArithmetic | kShortCode},
    {Opcode::kDomain, kBarrier},
    {Opcode::kDot, kContraction},
    {Opcode::kDynamicReshape, kDynamicSize},
    {Opcode::kDynamicSlice, kMovement | kSelects},
    {Opcode::kDynamicUpdateSlice, kMovement},
    {Opcode::kErf, kTranscendental},
    {Opcode::kExponential, kTranscendental | kShortCode},
    {Opcode::kExponentialMinusOne, kTranscendental},
    {Opcode::kFft, kAcross | kLibrary},
    {Opcode::kFloor, kArithmetic},
    {Opcode::kFusion, kOwnRules},
    {Opcode::kGather, kMovement | kSelects | kReorders | kRewritten},
    {Opcode::kGetDimensionSize, kOwnRules},
    {Opcode::kGetTupleElement, kNoOp},
    {Opcode::kImag, kArithmetic},
    {Opcode::kInfeed, kHostExchange},
    {Opcode::kIota, kMovement},
    {Opcode::kIsFinite, kArithmetic},
    {Opcode::kLog, kTranscendental | kShortCode},
    {Opcode::kLogPlusOne, kTranscendental},
    {Opcode::kLogistic, kTranscendental | kShortCode},
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
    {Opcode::kPad, kMovement | kReorders},
    {Opcode::kParameter, kNoOp},
    {Opcode::kPartitionId, kDeviceId},
    {Opcode::kPopcnt, kArithmetic},
    {Opcode::kPower, kTranscendental},
    {Opcode::kRaggedAllToAll, kCollective},
    {Opcode::kRaggedDot, kContraction},
    {Opcode::kReal, kArithmetic},
    {Opcode::kRecv, kHostExchange},
    {Opcode::kRecvDone, kHostExchange | kDone},
    {Opcode::kReduce, kAcross},
    {Opcode::kReducePrecision, kArithmetic | kKeepsElements},
    {Opcode::kReduceScatter, kReducesAcross | kAlongDimension},
    {Opcode::kReduceWindow, kAcross | kRewritten},
    {Opcode::kRemainder, kArithmetic},
    {Opcode::kReplicaId, kDeviceId},
    {Opcode::kReshape, kSameBytes | kKeepsElements},
    {Opcode::kReverse, kMovement | kKeepsElements | kReorders},
    {Opcode::kRng, kHiddenState},
    {Opcode::kRngBitGenerator, kRandom},
    {Opcode::kRngGetAndUpdateState, kHiddenState},
    {Opcode::kRoundNearestAfz, kArithmetic},
    {Opcode::kRoundNearestEven, kArithmetic},
    {Opcode::kRsqrt, kTranscendental | kShortCode},
    {Opcode::kScaledDot, kContraction},
    {Opcode::kScan, kAcross},
    {Opcode::kScatter, kAcross | kReorders | kRewritten},
    {Opcode::kSelect, kArithmetic},
    {Opcode::kSelectAndScatter, kAcross | kRewritten},
    {Opcode::kSend, kHostExchange},
    {Opcode::kSendDone, kHostExchange | kDone},
    {Opcode::kSetDimensionSize, kDynamicSize},
    {Opcode::kShiftLeft, kArithmetic},
    {Opcode::kShiftRightArithmetic, kArithmetic},
    {Opcode::kShiftRightLogical, kArithmetic},
    {Opcode::kSign, kArithmetic},
    {Opcode::kSine, kTranscendental},
    {Opcode::kSinh, kTranscendental},
    {Opcode::kSlice, kMovement | kSelects},
    {Opcode::kSort, kAcross | kRewritten},
    {Opcode::kSqrt, kTranscendental | kShortCode},
    {Opcode::kStochasticConvert, kArithmetic},
    {Opcode::kSubtract, kArithmetic},
    {Opcode::kTan, kTranscendental},
    {Opcode::kTanh, kTranscendental},
    {Opcode::kTopk, kAcross},
    {Opcode::kTranspose, kMovement | kKeepsElements | kReorders},
    {Opcode::kTriangularSolve, kAcross | kLibrary | kRewritten},
    {Opcode::kTuple, kNoOp},
    {Opcode::kWhile, kLoopOrBranch},
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
bool SelectsElements(Opcode opcode) { return Has(opcode, kSelects); }
bool KeepsElements(Opcode opcode) { return Has(opcode, kKeepsElements); }
bool ReordersElements(Opcode opcode) { return Has(opcode, kReorders); }
bool KeepsBytes(Opcode opcode) { return Has(opcode, kSameBytes); }
bool IsContraction(Opcode opcode) { return Has(opcode, kContraction); }
bool IsCollective(Opcode opcode) { return Has(opcode, kCollective); }
bool ReducesAcrossDevices(Opcode opcode) { return Has(opcode, kReducesAcross); }
bool MakesEqual(Opcode opcode) { return Has(opcode, kMakesEqual); }
bool IsAlongDimension(Opcode opcode) { return Has(opcode, kAlongDimension); }
bool IsDeviceId(Opcode opcode) { return Has(opcode, kDeviceId); }
bool IsHostExchange(Opcode opcode) { return Has(opcode, kHostExchange); }
bool IsControlFlow(Opcode opcode) { return Has(opcode, kControlFlow); }
bool IsLoopOrBranch(Opcode opcode) { return Has(opcode, kLoopOrBranch); }
bool HasHiddenState(Opcode opcode) { return Has(opcode, kHiddenState); }
bool IsBarrier(Opcode opcode) { return Has(opcode, kBarrier); }
bool IsNoOp(Opcode opcode) { return Has(opcode, kNoOp); }
bool IsAsynchronous(Opcode opcode) { return Has(opcode, kAsynchronous); }
bool IsDone(Opcode opcode) { return Has(opcode, kDone); }
bool IsDynamicSize(Opcode opcode) { return Has(opcode, kDynamicSize); }
bool IsLibraryCall(Opcode opcode) { return Has(opcode, kLibrary); }
bool IsRewritten(Opcode opcode) { return Has(opcode, kRewritten); }
bool HasShortCode(Opcode opcode) { return Has(opcode, kShortCode); }

Opcode CollectiveOf(Opcode opcode) {
  switch (opcode) {
    case Opcode::kAllGatherStart:
      return Opcode::kAllGather;
    case Opcode::kAllReduceStart:
      return Opcode::kAllReduce;
    case Opcode::kCollectivePermuteStart:
      return Opcode::kCollectivePermute;
    default:
      return IsCollective(opcode) && !IsDone(opcode) ? opcode
                                                     : Opcode::kUnknown;
  }
}

}  // namespace meshwright
