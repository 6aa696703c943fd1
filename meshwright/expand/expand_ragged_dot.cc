#include <numeric>

#include "meshwright/base/status_macros.h"
#include "meshwright/expand/expansions.h"
#include "meshwright/hlo/ragged_dot_numbers.h"
#include "meshwright/rules/ragged_groups.h"

namespace meshwright {
namespace {

using Ragged = RaggedDotNumbers::Ragged;

std::vector<int64_t> OneMore(std::vector<int64_t> dimensions) {
  for (int64_t& dimension : dimensions) ++dimension;
  return dimensions;
}

// lhs for each group, in a leading dimension, with zeros for elements of other
// groups.
Instruction* ByGroup(const Instruction& instruction,
                     const RaggedDotNumbers& numbers, LocalBuilder& builder) {
  Instruction* lhs = instruction.operands[0];
  Instruction* sizes = instruction.operands[2];
  std::vector<int64_t> wide = lhs->shape.dimensions;
  std::vector<int64_t> mapping(wide.size());
  std::iota(mapping.begin(), mapping.end(), 1);
  wide.insert(wide.begin(), sizes->shape.dimensions.back());
  Instruction* inside =
      InGroup(BoundsOf(sizes, builder), wide, /*group=*/0,
              OneMore(numbers.outer), numbers.ragged + 1, builder);
  Instruction* zero = builder.Constant(lhs->shape.element_type, 0);
  return builder.Select(inside, builder.BroadcastInDim(lhs, wide, mapping),
                        builder.Broadcast(zero, wide));
}

Instruction* Dot(const Instruction& like, Instruction* lhs, Instruction* rhs,
                 DotDimensionNumbers numbers, std::vector<int64_t> dimensions,
                 LocalBuilder& builder) {
  Attributes attributes;
  attributes.dot = std::move(numbers);
  attributes.precision = like.attributes->precision;
  return builder.Add(
      Opcode::kDot,
      Shape::Array(like.shape.element_type, std::move(dimensions)), {lhs, rhs},
      std::move(attributes));
}

}  // namespace

absl::StatusOr<Instruction*> ExpandRaggedDot(const Instruction& instruction,
                                             LocalBuilder& builder) {
  MW_ASSIGN_OR_RETURN(const RaggedDotNumbers numbers,
                      RaggedDotNumbersOf(instruction));
  Instruction* rhs = instruction.operands[1];
  std::vector<int64_t> dimensions = instruction.shape.dimensions;
  if (numbers.kind == Ragged::kBatch) {
    return Dot(instruction, instruction.operands[0], rhs, numbers.dot,
               std::move(dimensions), builder);
  }
  Instruction* lhs = ByGroup(instruction, numbers, builder);
  DotDimensionNumbers dot = numbers.dot;
  dot.lhs_batch = OneMore(std::move(dot.lhs_batch));
  dot.lhs_contracting = OneMore(std::move(dot.lhs_contracting));
  if (numbers.kind == Ragged::kFree) {
    dot.lhs_contracting.insert(dot.lhs_contracting.begin(), 0);
    dot.rhs_contracting.insert(dot.rhs_contracting.begin(), numbers.rhs_group);
    return Dot(instruction, lhs, rhs, std::move(dot), std::move(dimensions),
               builder);
  }
  // The group dimension comes after the batch dimensions.
  const int64_t batch = std::ssize(dot.lhs_batch);
  std::vector<int64_t> order(dimensions.size());
  std::iota(order.begin(), order.end(), 0);
  order.erase(order.begin() + batch);
  order.insert(order.begin(), batch);
  const int64_t groups = dimensions.front();
  dimensions.erase(dimensions.begin());
  dimensions.insert(dimensions.begin() + batch, groups);
  Instruction* product = Dot(instruction, lhs, rhs, std::move(dot),
                             std::move(dimensions), builder);
  return builder.Transpose(product, std::move(order));
}

}  // namespace meshwright
