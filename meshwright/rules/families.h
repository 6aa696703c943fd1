// Factors and lowerings by family of opcodes, for rule_table.cc.
//
// A factor function returns nullopt if it does not support the instruction's
// attributes; the fallback rule is used then. LowerUnchanged serves every
// family whose attributes contain no sizes and whose padding may be garbage.
#ifndef MESHWRIGHT_RULES_FAMILIES_H_
#define MESHWRIGHT_RULES_FAMILIES_H_

#include <optional>
#include <vector>

#include "meshwright/rules/lowering.h"
#include "meshwright/rules/rule.h"

namespace meshwright {

using LocalValues = std::vector<Instruction*>;

// elementwise.cc: one factor per dimension, shared by all tensors; scalar
// operands (clamp's bounds, select's predicate) have no factors.
std::optional<Rule> ElementwiseFactors(const Instruction& instruction);
// Separate factors for each leaf: opt-barrier, add-dependency, copy-start, ...
std::optional<Rule> IdentityFactors(const Instruction& instruction);

// sources.cc: constant, iota.
std::optional<Rule> SourceFactors(const Instruction& instruction);
LocalValues LowerConstant(const LocalOp& op, LocalBuilder& builder);
LocalValues LowerIota(const LocalOp& op, LocalBuilder& builder);

// rng.cc: rng-bit-generator, rng.
std::optional<Rule> RngBitGeneratorFactors(const Instruction& instruction);
LocalValues LowerRngBitGenerator(const LocalOp& op, LocalBuilder& builder);
std::optional<Rule> RngFactors(const Instruction& instruction);
LocalValues LowerRng(const LocalOp& op, LocalBuilder& builder);

// layout.cc: broadcast, transpose, reshape, bitcast, bitcast-convert.
std::optional<Rule> BroadcastFactors(const Instruction& instruction);
std::optional<Rule> TransposeFactors(const Instruction& instruction);
std::optional<Rule> ReshapeFactors(const Instruction& instruction);
std::optional<Rule> BitcastConvertFactors(const Instruction& instruction);

// reduce.cc
std::optional<Rule> ReduceFactors(const Instruction& instruction);
LocalValues LowerReduce(const LocalOp& op, LocalBuilder& builder);

// dot.cc, ragged_dot.cc, scaled_dot.cc
// A tensor with one factor in each dimension.
TensorFactors AsTensor(const std::vector<int32_t>& factors);
Rule DotRule(const DotDimensionNumbers& dot, const Shape& lhs_shape,
             const Shape& rhs_shape);
std::optional<Rule> ScaledDotFactors(const Instruction& instruction);
std::optional<Rule> DotFactors(const Instruction& instruction);
LocalValues LowerDot(const LocalOp& op, LocalBuilder& builder);
// The operands, the first two with zeros in the padding of contracted factors.
LocalValues MaskReduced(const LocalOp& op, LocalBuilder& builder);
std::optional<Rule> RaggedDotFactors(const Instruction& instruction);
LocalValues LowerRaggedDot(const LocalOp& op, LocalBuilder& builder);

// convolution.cc
std::optional<Rule> ConvolutionFactors(const Instruction& instruction);
std::optional<Rule> ShiftedConvolutionFactors(const Instruction& instruction);
LocalValues LowerConvolution(const LocalOp& op, LocalBuilder& builder);

// window.cc: reduce-window (pooling and cumulative); window_scatter.cc:
// select-and-scatter. Shifted: windows and base are sharded independently.
std::optional<Rule> ReduceWindowFactors(const Instruction& instruction);
std::optional<Rule> ShiftedReduceWindowFactors(const Instruction& instruction);
LocalValues LowerReduceWindow(const LocalOp& op, LocalBuilder& builder);
std::optional<Rule> SelectAndScatterFactors(const Instruction& instruction);
std::optional<Rule> ShiftedSelectAndScatterFactors(
    const Instruction& instruction);
LocalValues LowerSelectAndScatter(const LocalOp& op, LocalBuilder& builder);

// slice.cc, pad.cc: slice, pad, concatenate, reverse. Shifted: dimensions whose
// size changes are sharded before and after, and elements move between devices.
std::optional<Rule> ShiftedSliceFactors(const Instruction& instruction);
std::optional<Rule> ShiftedPadFactors(const Instruction& instruction);
std::optional<Rule> ShiftedConcatenateFactors(const Instruction& instruction);
std::optional<Rule> SliceFactors(const Instruction& instruction);
LocalValues LowerSlice(const LocalOp& op, LocalBuilder& builder);
std::optional<Rule> PadFactors(const Instruction& instruction);
LocalValues LowerPad(const LocalOp& op, LocalBuilder& builder);
std::optional<Rule> ConcatenateFactors(const Instruction& instruction);
LocalValues LowerConcatenate(const LocalOp& op, LocalBuilder& builder);
std::optional<Rule> ReverseFactors(const Instruction& instruction);
LocalValues LowerReverse(const LocalOp& op, LocalBuilder& builder);

// dynamic_slice.cc
std::optional<Rule> DynamicSliceFactors(const Instruction& instruction);
LocalValues LowerDynamicSlice(const LocalOp& op, LocalBuilder& builder);
std::optional<Rule> DynamicUpdateSliceFactors(const Instruction& instruction);
LocalValues LowerDynamicUpdateSlice(const LocalOp& op, LocalBuilder& builder);

// gather.cc, scatter.cc
std::optional<Rule> GatherFactors(const Instruction& instruction);
LocalValues LowerGather(const LocalOp& op, LocalBuilder& builder);
std::optional<Rule> ScatterFactors(const Instruction& instruction);
LocalValues LowerScatter(const LocalOp& op, LocalBuilder& builder);

// scan.cc
std::optional<Rule> ScanFactors(const Instruction& instruction);
LocalValues LowerScan(const LocalOp& op, LocalBuilder& builder);

// sort.cc: sort, topk.
std::optional<Rule> SortFactors(const Instruction& instruction);
std::optional<Rule> TopKFactors(const Instruction& instruction);
LocalValues LowerTopK(const LocalOp& op, LocalBuilder& builder);

// linear_algebra.cc: fft, cholesky, triangular-solve.
std::optional<Rule> FftFactors(const Instruction& instruction);
std::optional<Rule> CholeskyFactors(const Instruction& instruction);
std::optional<Rule> TriangularSolveFactors(const Instruction& instruction);

// dimension_size.cc: get-dimension-size.
std::optional<Rule> GetDimensionSizeFactors(const Instruction& instruction);
LocalValues LowerGetDimensionSize(const LocalOp& op, LocalBuilder& builder);

// batch_norm.cc: batch-norm-training, -grad, -inference.
std::optional<Rule> BatchNormFactors(const Instruction& instruction);
LocalValues LowerBatchNorm(const LocalOp& op, LocalBuilder& builder);

// custom_call.cc: by the rule recorded in it, or by target.
std::optional<Rule> CustomCallFactors(const Instruction& instruction);
LocalValues LowerCustomCall(const LocalOp& op, LocalBuilder& builder);

// attention.cc: cuDNN's (fused_attention.h).
std::optional<Rule> AttentionFactors(const Instruction& instruction);
LocalValues LowerAttention(const LocalOp& op, LocalBuilder& builder);
// kernel.cc: Rule::variants of a kernel; empty if it is not one.
std::vector<TensorSizes> KernelVariants(const Instruction& instruction);
// Includes the variants for the local shapes, and those that sharding it
// further may need.
LocalValues LowerKernel(const LocalOp& op, LocalBuilder& builder);

// Whether it is only a hint to a partitioner, which returns its operand.
bool IsPartitionerHint(const Instruction& instruction);

// island.cc, lower_island.cc: shard_map regions.
std::optional<Rule> IslandFactors(const Instruction& instruction);
LocalValues LowerIsland(const LocalOp& op, LocalBuilder& builder);

// The reduction that a combiner computes: add(a, b) is kSum. For n results, the
// reduction of every pair (i, n + i) of parameters, if all are the same.
// Bitwise "and" and "or" of integers give nullopt, since collectives do not
// support them.
std::optional<Reduction> ReductionOf(const Computation& combiner);

}  // namespace meshwright

#endif  // MESHWRIGHT_RULES_FAMILIES_H_
