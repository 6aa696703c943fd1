#include "meshwright/cost/ragged_work.h"

#include <algorithm>

#include "meshwright/base/element_type.h"
#include "meshwright/expand/ragged_blocks.h"
#include "meshwright/hlo/ragged_dot_numbers.h"

namespace meshwright {
namespace {

double Product(absl::Span<const int64_t> sizes) {
  double product = 1;
  for (const int64_t size : sizes) product *= static_cast<double>(size);
  return product;
}

double Bytes(ElementType type) {
  return static_cast<double>(BitWidth(type)) / 8;
}

}  // namespace

std::optional<BlockedWork> BlockedWorkOf(const Instruction& instruction,
                                         const LocalSizes& local) {
  if (instruction.opcode != Opcode::kRaggedDot) return std::nullopt;
  const absl::StatusOr<RaggedDotNumbers> numbers =
      RaggedDotNumbersOf(instruction);
  if (!numbers.ok() || numbers->kind == RaggedDotNumbers::Ragged::kBatch) {
    return std::nullopt;
  }
  const bool is_free = numbers->kind == RaggedDotNumbers::Ragged::kFree;
  const int64_t groups =
      is_free ? local.rhs[numbers->rhs_group] : local.result[0];
  const RaggedBlocks blocks = BlocksOf(*numbers, local.lhs, groups);
  if (blocks.count == 0) return std::nullopt;
  const auto count = static_cast<double>(blocks.count);
  const double rows = count * static_cast<double>(blocks.rows);
  double given = static_cast<double>(local.lhs[numbers->ragged]);
  double matrices = static_cast<double>(groups);
  for (const int64_t outer : numbers->outer) {
    given *= static_cast<double>(local.lhs[outer]);
    const auto& batch = numbers->dot.lhs_batch;
    if (std::ranges::find(batch, outer) == batch.end()) continue;
    matrices *= static_cast<double>(local.lhs[outer]);
  }
  const auto all =
      static_cast<double>(instruction.operand_shape(2).dimensions.back());
  const auto part = [](absl::Span<const int64_t> sizes, double in_front,
                       double wanted) {
    return Product(sizes) / in_front * wanted;
  };
  const ElementType type = instruction.shape.element_type;
  const double lhs = Bytes(instruction.operand_shape(0).element_type) *
                     part(local.lhs, given, rows);
  const double width = Bytes(instruction.operand_shape(1).element_type);
  // Products of blocks are added up in f32.
  const double sum = std::max(Bytes(type), Bytes(ElementType::kF32));
  return BlockedWork{
      .times = rows / given * all / static_cast<double>(groups),
      .bytes =
          lhs + (is_free ? width * part(local.rhs, matrices, count) +
                               Bytes(type) * part(local.result, given, rows)
                         : width * part(local.rhs, given, rows) +
                               sum * part(local.result, matrices, count))};
}

}  // namespace meshwright
