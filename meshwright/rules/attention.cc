// cuDNN's attention: the batch and the heads are kept. Query heads that share
// a key head may be split, too; the gradients of keys and values are sums over
// them then. Over the sequence, keys and values go round (ring_attention.cc),
// with as much to do for all devices if it is causal (balanced_ring.cc); with a
// sliding window, only what it reaches is fetched (window_attention.cc).
#include <utility>

#include "meshwright/rules/balanced_ring.h"
#include "meshwright/rules/dropout_seeds.h"
#include "meshwright/rules/families.h"
#include "meshwright/rules/fused_attention.h"
#include "meshwright/rules/packed_segments.h"
#include "meshwright/rules/ring_attention.h"
#include "meshwright/rules/window_attention.h"

namespace meshwright {
namespace {

using Tensor = AttentionPart;

constexpr int32_t kBatchFactor = 0;

// Factor numbers; the first kAttentionShards are those below.
struct Letters {
  int32_t batch, group, shared;  // Query heads are group x shared.
  int32_t query, key;            // Positions.
  int32_t size, value_size;
};

TensorFactors TensorFactorsOf(const FusedAttention& attention,
                              const Letters& of, Tensor part,
                              const Shape& shape, bool is_result, Rule& rule) {
  const auto four = [&](DimFactors heads, int32_t sequence, int32_t size) {
    TensorFactors tensor = {{of.batch}, std::move(heads), {sequence}, {size}};
    if (!is_result && !attention.heads_first) std::swap(tensor[1], tensor[2]);
    return tensor;
  };
  switch (part) {
    case Tensor::kQuery:
      return four({of.group, of.shared}, of.query, of.size);
    case Tensor::kKey:
      return four({of.group}, of.key, of.size);
    case Tensor::kValue:
      return four({of.group}, of.key, of.value_size);
    case Tensor::kOutput:
      return four({of.group, of.shared}, of.query, of.value_size);
    default:
      break;
  }
  // Dimensions of their own, but for those that are the batch or the heads.
  TensorFactors tensor;
  for (const int64_t size : shape.dimensions) {
    tensor.push_back({rule.AddFactor(size, FactorKind::kWhole)});
  }
  const bool packed = attention.segments > 1;
  switch (part) {
    case Tensor::kLogSumExp:
      if (!packed) {
        tensor[0] = {of.batch};
      } else if (CanListByRow(attention)) {
        const int32_t segment =
            rule.AddFactor(attention.segments, FactorKind::kWhole);
        tensor[0] = {of.batch, segment};
      }
      tensor[1] = {of.group, of.shared};
      tensor[2] = {of.query};
      break;
    case Tensor::kLengths:
      if (!packed) tensor[0] = {of.batch};
      break;
    case Tensor::kBias:
      if (shape.dimensions[0] == attention.batch) tensor[0] = {of.batch};
      if (shape.dimensions[1] == attention.query_heads) {
        tensor[1] = {of.group, of.shared};
      }
      tensor[2] = {of.query};
      break;
    default:
      break;
  }
  return tensor;
}

// Kept where all results have it; otherwise they are partial over it.
FactorKind KindOf(int32_t factor, const FusedAttention& attention,
                  const Rule& rule) {
  for (size_t i = 0; i < rule.results.size(); ++i) {
    if (attention.results[i] != Tensor::kWorkspace &&
        !Has(rule.results[i], factor)) {
      return FactorKind::kReduced;
    }
  }
  return FactorKind::kKept;
}

// Offsets count elements of all heads.
Instruction* LocalOffsets(Instruction* offsets, int64_t ways,
                          LocalBuilder& builder) {
  Instruction* divisor =
      builder.Constant(offsets->shape.element_type, static_cast<double>(ways));
  return builder.Binary(Opcode::kDivide, offsets,
                        builder.Broadcast(divisor, offsets->shape.dimensions));
}

}  // namespace

std::optional<Rule> AttentionFactors(const Instruction& instruction) {
  const std::optional<FusedAttention> attention =
      ReadFusedAttention(instruction);
  if (!attention.has_value() || (attention->is_f8 && attention->dropout > 0)) {
    return std::nullopt;
  }
  Rule rule;
  const auto add = [&](int64_t size) {
    return rule.AddFactor(size, FactorKind::kWhole);
  };
  Letters letters{};
  letters.batch = add(attention->batch);
  letters.group = add(attention->key_heads);
  letters.shared = add(attention->query_heads / attention->key_heads);
  letters.query = add(attention->queries);
  letters.key = add(attention->keys);
  letters.size = add(attention->size);
  letters.value_size = add(attention->value_size);
  for (size_t i = 0; i < attention->operands.size(); ++i) {
    rule.operands.push_back(TensorFactorsOf(*attention, letters,
                                            attention->operands[i],
                                            instruction.operand_shape(i),
                                            /*is_result=*/false, rule));
  }
  const std::vector<const Shape*> results = Leaves(instruction.shape);
  for (size_t i = 0; i < results.size(); ++i) {
    rule.results.push_back(TensorFactorsOf(*attention, letters,
                                           attention->results[i], *results[i],
                                           /*is_result=*/true, rule));
  }
  for (const int32_t factor : {letters.batch, letters.group, letters.shared}) {
    const bool packed = factor == letters.batch && attention->segments > 1;
    if (packed && !CanListByRow(*attention)) continue;
    rule.factors[factor].kind = KindOf(factor, *attention, rule);
    // Shards of forward and backward are told apart by the same factors, and
    // segments by their rows.
    rule.factors[factor].may_divide = attention->dropout <= 0 && !packed;
    if (!attention->is_f8) continue;
    if (factor == letters.shared && attention->backward &&
        rule.factors[factor].size > 1) {
      // Sums here, largest values there.
      rule.factors[factor].kind = FactorKind::kWhole;
    }
    rule.factors[factor].reduction = Reduction::kMax;
  }
  if (MayGoRound(*attention)) {
    rule.factors[letters.query].kind = FactorKind::kExchanged;
    rule.factors[letters.key].kind = FactorKind::kExchanged;
    rule.factors[letters.key].tied = letters.query;
  }
  return rule;
}

LocalValues LowerAttention(const LocalOp& op, LocalBuilder& builder) {
  const FusedAttention whole = *ReadFusedAttention(op.instruction);
  const int64_t sequence = whole.heads_first ? 2 : 1;
  const AxisList& ring = op.axes(op.rule.operands[0][sequence][0]);
  if (!ring.empty() && whole.window > 0) {
    return whole.backward ? WindowBackward(op, whole, ring, builder)
                          : WindowForward(op, whole, ring, builder);
  }
  if (!ring.empty() && IsWorthBalancing(op, whole, ring, builder)) {
    return whole.backward ? BalancedBackward(op, whole, ring, builder)
                          : BalancedForward(op, whole, ring, builder);
  }
  if (!ring.empty()) {
    return whole.backward ? RingBackward(op, whole, ring, builder)
                          : RingForward(op, whole, ring, builder);
  }
  LocalValues operands = CanListByRow(whole)
                             ? ListByRow(op, whole, kBatchFactor, builder)
                             : op.operands;
  const int64_t heads =
      operands[0]->shape.dimensions[whole.heads_first ? 1 : 2];
  if (heads < whole.query_heads) {
    for (size_t i = 0; i < operands.size(); ++i) {
      if (whole.operands[i] != Tensor::kOffsets) continue;
      operands[i] =
          LocalOffsets(operands[i], whole.query_heads / heads, builder);
    }
  }
  return CallShard(op, whole, operands, /*step=*/0, builder);
}

}  // namespace meshwright
