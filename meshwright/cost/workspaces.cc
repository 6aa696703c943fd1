#include "meshwright/cost/workspaces.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "meshwright/base/element_type.h"
#include "meshwright/cost/ragged_work.h"
#include "meshwright/rules/fused_attention.h"

namespace meshwright {
namespace {

constexpr int64_t kF32 = 4;
// What XLA gives cuBLAS on Hopper and later.
constexpr int64_t kMatmulBytes = int64_t{32} << 20;

int64_t Bytes(ElementType type, absl::Span<const int64_t> sizes) {
  int64_t bits = BitWidth(type);
  for (const int64_t size : sizes) bits *= size;
  return bits / 8;
}

// Small ones are kernels of XLA's own.
int64_t OfDot(const Instruction& dot, const LocalSizes& local) {
  const int64_t arrays = Bytes(dot.operand_shape(0).element_type, local.lhs) +
                         Bytes(dot.operand_shape(1).element_type, local.rhs) +
                         Bytes(dot.shape.element_type, local.result);
  return arrays >= kMatmulBytes ? kMatmulBytes : 0;
}

int64_t OfAttention(const Instruction& call, const LocalSizes& local) {
  const std::optional<FusedAttention> attention = ReadFusedAttention(call);
  if (!attention.has_value() || !attention->backward) return 0;
  const int64_t sequence = attention->heads_first ? 2 : 1;
  const int64_t heads = local.lhs[attention->heads_first ? 1 : 2];
  const int64_t rows = local.lhs[0] * heads * local.lhs[sequence];
  const int64_t width = BitWidth(call.operand_shape(0).element_type) / 8;
  int64_t bytes = kF32 * rows;
  // The gradient of a bias is that of the scores, which are stored for it.
  const bool stores_scores =
      std::ranges::count(attention->results, AttentionPart::kBias) > 0;
  bytes += stores_scores ? width * rows * local.rhs[sequence]
                         : kF32 * rows * attention->size;
  if (attention->query_heads != attention->key_heads) {
    bytes += width * local.lhs[0] * heads * local.rhs[sequence] *
             (attention->size + attention->value_size);
  }
  return bytes;
}

}  // namespace

int64_t WorkspaceBytes(const Instruction& instruction,
                       const LocalSizes& local) {
  switch (instruction.opcode) {
    case Opcode::kDot:
      return OfDot(instruction, local);
    case Opcode::kRaggedDot: {
      const auto blocked = BlockedWorkOf(instruction, local);
      if (!blocked.has_value()) return 0;
      return static_cast<int64_t>(std::ceil(blocked->bytes)) + kMatmulBytes;
    }
    case Opcode::kCustomCall:
      return OfAttention(instruction, local);
    default:
      return 0;
  }
}

}  // namespace meshwright
