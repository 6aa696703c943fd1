#include <algorithm>
#include <cstdint>
#include <vector>

#include "meshwright/base/element_type.h"
#include "meshwright/expand/expansions.h"

namespace meshwright {
namespace {

// The bytes that a GPU reads from memory in the time of one atomic update that
// waits for another: an H200 takes 44 ns per addition to a contended address.
constexpr double kBytesOfAnUpdate = 128 << 10;

// Whether whole rows are added to a table of rows: its first dimension is
// indexed, and updates are [..., row].
bool IsTableOfRows(const Instruction& scatter) {
  const ScatterDimensionNumbers& numbers = *scatter.attributes->scatter;
  const Shape& indices = scatter.operands[1]->shape;
  const Shape& updates = scatter.operands[2]->shape;
  const bool has_vector = numbers.index_vector_dim == indices.rank() - 1;
  if (!numbers.input_batching_dims.empty() ||
      numbers.inserted_window_dims != std::vector<int64_t>{0} ||
      numbers.scatter_dims_to_operand_dims != std::vector<int64_t>{0} ||
      !(numbers.index_vector_dim == indices.rank() ||
        (has_vector && indices.dimensions.back() == 1))) {
    return false;
  }
  for (size_t i = 0; i < numbers.update_window_dims.size(); ++i) {
    const int64_t dimension = numbers.update_window_dims[i];
    const auto inner =
        static_cast<int64_t>(numbers.update_window_dims.size() - i);
    if (dimension != updates.rank() - inner ||
        updates.dimensions[dimension] != scatter.shape.dimensions[i + 1]) {
      return false;
    }
  }
  return true;
}

}  // namespace

bool MeetsInFewRows(const Instruction& instruction) {
  const bool in_f32 = instruction.shape.element_type == ElementType::kF32;
  if (!(AddsHalves(instruction) || (in_f32 && AddsUpdates(instruction))) ||
      !IsTableOfRows(instruction)) {
    return false;
  }
  const auto rows = static_cast<double>(instruction.shape.dimensions[0]);
  const auto updates = static_cast<double>(
      std::max<int64_t>(1, ByteSize(instruction.operands[2]->shape)));
  const auto row_bytes =
      static_cast<double>(ByteSize(instruction.shape)) / std::max(1.0, rows);
  const double meet = updates / std::max(1.0, row_bytes) / std::max(1.0, rows);
  return rows > 0 && row_bytes > 0 && rows * updates < meet * kBytesOfAnUpdate;
}

absl::StatusOr<Instruction*> ExpandFewRows(const Instruction& instruction,
                                           LocalBuilder& builder) {
  const auto& operands = instruction.operands;
  const ElementType type = instruction.shape.element_type;
  const ElementType index_type = operands[1]->shape.element_type;
  const int64_t rows = instruction.shape.dimensions[0];
  int64_t width = 1;
  for (size_t i = 1; i < instruction.shape.dimensions.size(); ++i) {
    width *= instruction.shape.dimensions[i];
  }
  int64_t count = 1;
  for (const int64_t size : operands[1]->shape.dimensions) count *= size;
  Instruction* ids = builder.Reshape(operands[1], {count});
  Instruction* updates = builder.Convert(
      ElementType::kF32, builder.Reshape(operands[2], {count, width}));
  // For every row: its own updates, and zeros instead of all others.
  Instruction* is_own =
      builder.Compare("EQ", builder.BroadcastInDim(ids, {rows, count}, {1}),
                      builder.Iota(index_type, {rows, count}, 0));
  const std::vector<int64_t> all = {rows, count, width};
  Instruction* own = builder.Select(
      builder.BroadcastInDim(is_own, all, {0, 1}),
      builder.BroadcastInDim(updates, all, {1, 2}),
      builder.Broadcast(builder.Constant(ElementType::kF32, 0), all));
  Instruction* sums = builder.Reshape(builder.Reduce(Reduction::kSum, own, {1}),
                                      instruction.shape.dimensions);
  return builder.Convert(
      type,
      builder.Binary(Opcode::kAdd,
                     builder.Convert(ElementType::kF32, operands[0]), sums));
}

}  // namespace meshwright
