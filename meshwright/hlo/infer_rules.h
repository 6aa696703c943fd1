// The inference rules behind InferShape, by family of opcodes.
//
// Every rule may rely on the number of operands and called computations that
// its row in infer_shape.cc allows, and on nothing else: dimension numbers,
// sizes and shapes are untrusted. "Layouts are not inferred" applies to all.
#ifndef MESHWRIGHT_HLO_INFER_RULES_H_
#define MESHWRIGHT_HLO_INFER_RULES_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "meshwright/hlo/inferred.h"
#include "meshwright/hlo/instruction.h"

namespace meshwright {

using InferenceRule = absl::StatusOr<Inferred> (*)(const Instruction&);

// infer_elementwise.cc
absl::StatusOr<Inferred> InferUnary(const Instruction& instruction);
absl::StatusOr<Inferred> InferBinary(const Instruction& instruction);
absl::StatusOr<Inferred> InferClamp(const Instruction& instruction);
absl::StatusOr<Inferred> InferSelect(const Instruction& instruction);
absl::StatusOr<Inferred> InferConvert(const Instruction& instruction);
absl::StatusOr<Inferred> InferBitcastConvert(const Instruction& instruction);
absl::StatusOr<Inferred> InferReducePrecision(const Instruction& instruction);
absl::StatusOr<Inferred> InferStochasticConvert(const Instruction& instruction);

// infer_data_movement.cc
absl::StatusOr<Inferred> InferBroadcast(const Instruction& instruction);
absl::StatusOr<Inferred> InferReshape(const Instruction& instruction);
absl::StatusOr<Inferred> InferDynamicReshape(const Instruction& instruction);
absl::StatusOr<Inferred> InferTranspose(const Instruction& instruction);
absl::StatusOr<Inferred> InferReverse(const Instruction& instruction);
absl::StatusOr<Inferred> InferPad(const Instruction& instruction);
absl::StatusOr<Inferred> InferConcatenate(const Instruction& instruction);
absl::StatusOr<Inferred> InferIota(const Instruction& instruction);
absl::StatusOr<Inferred> InferBitcast(const Instruction& instruction);
absl::StatusOr<Inferred> InferGetDimensionSize(const Instruction& instruction);
absl::StatusOr<Inferred> InferSetDimensionSize(const Instruction& instruction);

// infer_slice.cc
absl::StatusOr<Inferred> InferSlice(const Instruction& instruction);
absl::StatusOr<Inferred> InferDynamicSlice(const Instruction& instruction);
absl::StatusOr<Inferred> InferDynamicUpdateSlice(
    const Instruction& instruction);

// infer_contraction.cc
absl::StatusOr<Inferred> InferDot(const Instruction& instruction);
absl::StatusOr<Inferred> InferRaggedDot(const Instruction& instruction);
absl::StatusOr<Inferred> InferConvolution(const Instruction& instruction);

// infer_gather_scatter.cc
absl::StatusOr<Inferred> InferGather(const Instruction& instruction);
absl::StatusOr<Inferred> InferScatter(const Instruction& instruction);

// infer_reduce.cc
absl::StatusOr<Inferred> InferReduce(const Instruction& instruction);
absl::StatusOr<Inferred> InferMap(const Instruction& instruction);
absl::StatusOr<Inferred> InferSort(const Instruction& instruction);
absl::StatusOr<Inferred> InferTopk(const Instruction& instruction);

// infer_window.cc
absl::StatusOr<Inferred> InferReduceWindow(const Instruction& instruction);
absl::StatusOr<Inferred> InferSelectAndScatter(const Instruction& instruction);

// infer_collective.cc
absl::StatusOr<Inferred> InferAllReduce(const Instruction& instruction);
absl::StatusOr<Inferred> InferAllGather(const Instruction& instruction);
absl::StatusOr<Inferred> InferReduceScatter(const Instruction& instruction);
absl::StatusOr<Inferred> InferAllToAll(const Instruction& instruction);
absl::StatusOr<Inferred> InferRaggedAllToAll(const Instruction& instruction);
absl::StatusOr<Inferred> InferCollectivePermute(const Instruction& instruction);
absl::StatusOr<Inferred> InferReplicaId(const Instruction& instruction);

// infer_control_flow.cc
absl::StatusOr<Inferred> InferFirstOperand(const Instruction& instruction);
absl::StatusOr<Inferred> InferOwn(const Instruction& instruction);
absl::StatusOr<Inferred> InferTuple(const Instruction& instruction);
absl::StatusOr<Inferred> InferGetTupleElement(const Instruction& instruction);
absl::StatusOr<Inferred> InferCallee(const Instruction& instruction);
absl::StatusOr<Inferred> InferConditional(const Instruction& instruction);
absl::StatusOr<Inferred> InferAfterAll(const Instruction& instruction);
absl::StatusOr<Inferred> InferAddDependency(const Instruction& instruction);
absl::StatusOr<Inferred> InferInfeed(const Instruction& instruction);
absl::StatusOr<Inferred> InferOutfeed(const Instruction& instruction);

// infer_linear_algebra.cc
absl::StatusOr<Inferred> InferFft(const Instruction& instruction);
absl::StatusOr<Inferred> InferCholesky(const Instruction& instruction);
absl::StatusOr<Inferred> InferTriangularSolve(const Instruction& instruction);
absl::StatusOr<Inferred> InferBatchNorm(const Instruction& instruction);

// infer_rng.cc
absl::StatusOr<Inferred> InferRng(const Instruction& instruction);
absl::StatusOr<Inferred> InferRngBitGenerator(const Instruction& instruction);
absl::StatusOr<Inferred> InferRngState(const Instruction& instruction);

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_INFER_RULES_H_
