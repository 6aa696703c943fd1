#include "meshwright/microbatch/row_traits.h"

#include <algorithm>

#include "meshwright/hlo/computation.h"
#include "meshwright/hlo/opcode_traits.h"
#include "meshwright/rules/island.h"

namespace meshwright {
namespace {

// Indices of rows are evaluated one by one, which takes memory and time.
constexpr int64_t kMostRows = 1 << 22;

}  // namespace

bool IsSameAlong(const Instruction& value, int64_t dimension) {
  if (value.shape.dimensions[dimension] == 1) return true;
  if (value.opcode == Opcode::kBroadcast) {
    const std::vector<int64_t>& dimensions = value.attributes->dimensions;
    const auto found = std::ranges::find(dimensions, dimension);
    return found == dimensions.end() ||
           IsSameAlong(*value.operands[0], found - dimensions.begin());
  }
  if (!IsElementwise(value.opcode) || value.operands.empty()) return false;
  return std::ranges::all_of(value.operands, [&](const Instruction* operand) {
    return operand->shape.IsScalar() || IsSameAlong(*operand, dimension);
  });
}

bool TreatsRowsEqually(const Instruction& op, size_t operand,
                       int64_t dimension) {
  const auto is_full = [&](const Shape& part) {
    return part.dimensions[dimension] ==
           op.operand_shape(0).dimensions[dimension];
  };
  switch (op.opcode) {
    case Opcode::kGather:
      return operand != 0 ||
             std::ranges::count(op.attributes->gather->start_index_map,
                                dimension) == 0;
    case Opcode::kScatter:
      return operand != 0 ||
             std::ranges::count(
                 op.attributes->scatter->scatter_dims_to_operand_dims,
                 dimension) == 0;
    case Opcode::kSlice:
    case Opcode::kDynamicSlice:
      return is_full(op.shape);
    case Opcode::kDynamicUpdateSlice:
      return is_full(op.operand_shape(1));
    case Opcode::kCustomCall:
      return !IsIsland(op);
    case Opcode::kBroadcast:
    case Opcode::kConcatenate:
    case Opcode::kDot:
    case Opcode::kRaggedDot:
    case Opcode::kReduce:
    case Opcode::kReshape:
    case Opcode::kTopk:
    case Opcode::kTranspose:
      return true;
    default:
      return IsElementwise(op.opcode) || KeepsElements(op.opcode);
  }
}

bool NumbersRows(const Instruction& sort) {
  if (sort.opcode != Opcode::kSort || sort.operands.size() != 2 ||
      sort.operand_shape(0).rank() != 1 ||
      sort.operand_shape(0).dimensions[0] > kMostRows ||
      !sort.control_predecessors.empty()) {
    return false;
  }
  const Instruction& root = *sort.called[0]->root();
  const std::vector<Instruction*> parameters = sort.called[0]->Parameters();
  return root.opcode == Opcode::kCompare &&
         root.attributes->comparison_direction == "LT" &&
         root.operands[0] == parameters[0] &&
         root.operands[1] == parameters[1] &&
         sort.operands[1]->opcode == Opcode::kIota &&
         IsInteger(sort.operand_shape(0).element_type);
}

}  // namespace meshwright
