#include "meshwright/rules/rule_table.h"

#include <array>
#include <optional>
#include <utility>

#include "meshwright/hlo/opcode_traits.h"
#include "meshwright/rules/families.h"
#include "meshwright/rules/open_island.h"

namespace meshwright {
namespace {

OpcodeEntry Structural(Structure structure) { return {.structure = structure}; }

// Opcodes that are not listed compute on every device (the fallback).
OpcodeEntry MakeEntry(Opcode opcode) {
  if (IsElementwise(opcode)) return {ElementwiseFactors, LowerUnchanged};
  if (IsBarrier(opcode)) {
    return {IdentityFactors, LowerUnchanged, Structure::kNone,
            /*stays_apart=*/true};
  }
  switch (opcode) {
    case Opcode::kConstant:
      return {SourceFactors, LowerConstant};
    case Opcode::kIota:
      return {SourceFactors, LowerIota};
    case Opcode::kRngBitGenerator:
      return {RngBitGeneratorFactors, LowerRngBitGenerator};
    case Opcode::kRng:
    case Opcode::kRngGetAndUpdateState:
      return {RngFactors, LowerRng, Structure::kNone, /*stays_apart=*/true};

    case Opcode::kBroadcast:
      return {BroadcastFactors, LowerUnchanged};
    case Opcode::kTranspose:
      return {TransposeFactors, LowerUnchanged};
    case Opcode::kReshape:
    case Opcode::kBitcast:
      return {ReshapeFactors, LowerUnchanged};
    case Opcode::kBitcastConvert:
      return {BitcastConvertFactors, LowerUnchanged};

    case Opcode::kReduce:
      return {ReduceFactors, LowerReduce};
    case Opcode::kDot:
      return {DotFactors, LowerDot};
    case Opcode::kRaggedDot:
      return {RaggedDotFactors, LowerRaggedDot};
    case Opcode::kScaledDot:
      return {ScaledDotFactors, LowerUnchanged};
    case Opcode::kConvolution:
      return {.factors = ConvolutionFactors,
              .lower = LowerConvolution,
              .other_factors = ShiftedConvolutionFactors};
    case Opcode::kReduceWindow:
      return {.factors = ReduceWindowFactors,
              .lower = LowerReduceWindow,
              .other_factors = ShiftedReduceWindowFactors};
    case Opcode::kSelectAndScatter:
      return {.factors = SelectAndScatterFactors,
              .lower = LowerSelectAndScatter,
              .other_factors = ShiftedSelectAndScatterFactors};

    case Opcode::kSlice:
      return {.factors = SliceFactors,
              .lower = LowerSlice,
              .other_factors = ShiftedSliceFactors};
    case Opcode::kPad:
      return {.factors = PadFactors,
              .lower = LowerPad,
              .other_factors = ShiftedPadFactors};
    case Opcode::kConcatenate:
      return {.factors = ConcatenateFactors,
              .lower = LowerConcatenate,
              .other_factors = ShiftedConcatenateFactors};
    case Opcode::kReverse:
      return {ReverseFactors, LowerReverse};
    case Opcode::kDynamicSlice:
      return {DynamicSliceFactors, LowerDynamicSlice};
    case Opcode::kDynamicUpdateSlice:
      return {DynamicUpdateSliceFactors, LowerDynamicUpdateSlice};
    case Opcode::kGather:
      return {GatherFactors, LowerGather};
    case Opcode::kScatter:
      return {ScatterFactors, LowerScatter};

    case Opcode::kScan:
      return {ScanFactors, LowerScan};
    case Opcode::kSort:
      return {SortFactors, LowerUnchanged};
    case Opcode::kTopk:
      return {TopKFactors, LowerTopK};
    case Opcode::kFft:
      return {FftFactors, LowerUnchanged};
    case Opcode::kCholesky:
      return {CholeskyFactors, LowerUnchanged};
    case Opcode::kTriangularSolve:
      return {TriangularSolveFactors, LowerUnchanged};
    case Opcode::kBatchNormGrad:
    case Opcode::kBatchNormInference:
    case Opcode::kBatchNormTraining:
      return {BatchNormFactors, LowerBatchNorm};
    case Opcode::kGetDimensionSize:
      return {GetDimensionSizeFactors, LowerGetDimensionSize};
    case Opcode::kCustomCall:
      return {CustomCallFactors, LowerCustomCall};

    // Only of shard_map regions: what a step itself has is refused.
    case Opcode::kAllGather:
    case Opcode::kAllReduce:
    case Opcode::kAllToAll:
    case Opcode::kCollectiveBroadcast:
    case Opcode::kCollectivePermute:
    case Opcode::kReduceScatter:
      return {RegionCollectiveFactors, LowerUnchanged};

    case Opcode::kParameter:
      return Structural(Structure::kParameter);
    case Opcode::kTuple:
      return Structural(Structure::kTuple);
    case Opcode::kGetTupleElement:
      return Structural(Structure::kGetTupleElement);
    case Opcode::kWhile:
      return Structural(Structure::kWhile);
    case Opcode::kConditional:
      return Structural(Structure::kConditional);
    case Opcode::kCall:
      return Structural(Structure::kCall);
    default:
      return {};
  }
}

}  // namespace

const OpcodeEntry& EntryFor(Opcode opcode) {
  static const auto* const table = [] {
    auto* entries = new std::array<OpcodeEntry, kOpcodeCount>();
    for (size_t i = 0; i < entries->size(); ++i) {
      (*entries)[i] = MakeEntry(static_cast<Opcode>(i));
    }
    return entries;
  }();
  return (*table)[static_cast<size_t>(opcode)];
}

std::optional<Rule> OtherRuleFor(const Instruction& instruction) {
  const OpcodeEntry& entry = EntryFor(instruction.opcode);
  if (entry.other_factors == nullptr) return std::nullopt;
  return entry.other_factors(instruction);
}

Rule RuleFor(const Instruction& instruction) {
  const OpcodeEntry& entry = EntryFor(instruction.opcode);
  if (entry.factors != nullptr) {
    if (std::optional<Rule> rule = entry.factors(instruction)) {
      return *std::move(rule);
    }
  }
  return FallbackRule(instruction);
}

}  // namespace meshwright
