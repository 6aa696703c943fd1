#include "meshwright/rules/ring_attention.h"

#include <limits>
#include <utility>

#include "meshwright/rules/dropout_seeds.h"
#include "meshwright/rules/ring_lengths.h"
#include "meshwright/rules/ring_steps.h"

namespace meshwright {
namespace {

using Tensor = AttentionPart;
using Values = std::vector<Instruction*>;

// Sizes that a part has in a call on `operands`.
void Localise(const FusedAttention& attention, const Values& operands,
              Tensor part, std::vector<int64_t>& sizes) {
  const auto dims = [&](Tensor of) {
    const int32_t operand = attention.OperandOf(of);
    std::vector<int64_t> found = operands[operand]->shape.dimensions;
    if (!attention.heads_first) std::swap(found[1], found[2]);
    return found;
  };
  const std::vector<int64_t> query = dims(Tensor::kQuery);
  const std::vector<int64_t> key = dims(Tensor::kKey);
  switch (part) {
    case Tensor::kQuery:
    case Tensor::kOutput:
      sizes = {query[0], query[1], query[2], sizes[3]};
      break;
    case Tensor::kKey:
    case Tensor::kValue:
      sizes = {key[0], key[1], key[2], sizes[3]};
      break;
    case Tensor::kLogSumExp:
      sizes = {query[0] * attention.segments, query[1], query[2]};
      break;
    case Tensor::kBias:
      sizes = operands[attention.OperandOf(part)]->shape.dimensions;
      break;
    default:
      break;
  }
}

// The columns of a bias that belong to the keys of each step of a ring.
class BiasColumns {
 public:
  BiasColumns(const LocalOp& op, const FusedAttention& attention,
              const AxisList& ring, LocalBuilder& builder)
      : operand_(attention.OperandOf(Tensor::kBias)),
        bias_(operand_ < 0 ? nullptr : op.operands[operand_]),
        ring_(ring),
        builder_(builder) {}

  bool exist() const { return bias_ != nullptr; }

  // Makes those of `step` an operand of its call.
  void Choose(int64_t step, Values& operands) {
    if (!exist()) return;
    const int64_t rows = bias_->shape.dimensions[2];
    start_ = StartOfKeys(step, rows, ring_, builder_);
    operands[operand_] = builder_.DynamicSlice(bias_, 3, start_, rows);
  }

  // `gradient`, with that of the columns chosen last.
  Instruction* With(Instruction* gradient, Instruction* part) {
    if (gradient == nullptr) {
      std::vector<int64_t> sizes = part->shape.dimensions;
      sizes[3] = bias_->shape.dimensions[3];
      gradient = builder_.Broadcast(
          builder_.Constant(part->shape.element_type, 0), sizes);
    }
    return builder_.DynamicUpdateSlice(gradient, part, 3, start_);
  }

  // Of a block: a bias may hide all of its keys from a query.
  PartialAttention Seen(const PartialAttention& block) {
    if (!exist()) return block;
    Instruction* lowest = builder_.Broadcast(
        builder_.Constant(block.sum->shape.element_type,
                          std::numeric_limits<float>::lowest()),
        block.sum->shape.dimensions);
    return Visible(builder_.Compare("GT", block.sum, lowest), block, builder_);
  }

 private:
  const int32_t operand_;
  Instruction* const bias_;
  const AxisList& ring_;
  LocalBuilder& builder_;
  Instruction* start_ = nullptr;
};

}  // namespace

bool MayGoRound(const FusedAttention& attention) {
  if (attention.window > 0 && !attention.causal) return false;
  if (attention.is_f8 || attention.segments > 1 ||
      attention.queries != attention.keys) {
    return false;
  }
  return attention.backward || attention.results.size() == 3;
}

int64_t SequenceOf(const FusedAttention& attention, AttentionPart operand) {
  return attention.heads_first || operand == Tensor::kLogSumExp ? 2 : 1;
}

bool IsOfKeys(AttentionPart operand) {
  return operand == Tensor::kKey || operand == Tensor::kValue;
}

Values CallAttention(const Instruction& like, const Values& operands,
                     bool causal, LocalBuilder& builder) {
  const FusedAttention attention = *ReadFusedAttention(like);
  Shape shape = like.shape;
  for (size_t i = 0; i < shape.tuple_shapes.size(); ++i) {
    Localise(attention, operands, attention.results[i],
             shape.tuple_shapes[i].dimensions);
  }
  const std::vector<int64_t>& query = operands[0]->shape.dimensions;
  const std::vector<int64_t>& key = operands[1]->shape.dimensions;
  const int64_t heads = attention.heads_first ? 1 : 2;
  const int64_t sequence = attention.heads_first ? 2 : 1;
  Instruction* call = builder.Clone(like, shape, operands);
  Attributes& attributes = call->attributes.mutate();
  attributes.backend_config = AttentionConfig(
      like, query[0], query[heads], query[sequence], key[sequence], causal);
  std::vector<Shape>& layouts = attributes.operand_shapes_with_layout;
  for (size_t i = 0; i < layouts.size() && i < operands.size(); ++i) {
    layouts[i].dimensions = operands[i]->shape.dimensions;
  }
  Values results;
  for (size_t i = 0; i < shape.tuple_shapes.size(); ++i) {
    results.push_back(builder.GetTupleElement(call, static_cast<int64_t>(i)));
  }
  return results;
}

Values RingForward(const LocalOp& op, const FusedAttention& attention,
                   const AxisList& ring, LocalBuilder& builder) {
  Values operands = op.operands;
  BiasColumns bias(op, attention, ring, builder);
  LengthsInCalls lengths(op, attention, ring, builder);
  bias.Choose(0, operands);
  lengths.ChooseStep(0, operands);
  const Values own = CallShard(op, attention, operands, /*step=*/0, builder);
  PartialAttention all = lengths.Seen(
      bias.Seen({.output = builder.Convert(kRingType, own[0]), .sum = own[1]}));
  for (int64_t step = 1; step < builder.mesh().Size(ring); ++step) {
    operands[1] = PassOn(operands[1], ring, builder);
    operands[2] = PassOn(operands[2], ring, builder);
    bias.Choose(step, operands);
    lengths.ChooseStep(step, operands);
    const Values block = CallShard(op, attention, operands, step, builder);
    PartialAttention part = lengths.Seen(bias.Seen(
        {.output = builder.Convert(kRingType, block[0]), .sum = block[1]}));
    if (attention.causal) {
      part.sum = ValueIf(ComesBefore(step, ring, builder), part.sum,
                         -std::numeric_limits<double>::infinity(), builder);
    }
    all = JoinPartials(all, part, builder);
  }
  all = lengths.Finished(all);
  return {builder.Convert(own[0]->shape.element_type, all.output), all.sum,
          own[2]};
}

Values RingBackward(const LocalOp& op, const FusedAttention& attention,
                    const AxisList& ring, LocalBuilder& builder) {
  Values operands = op.operands;
  BiasColumns bias(op, attention, ring, builder);
  LengthsInCalls lengths(op, attention, ring, builder);
  const int32_t sum = attention.OperandOf(Tensor::kLogSumExp);
  const auto choose = [&](int64_t step) {
    bias.Choose(step, operands);
    lengths.ChooseStep(step, operands);
    operands[sum] = lengths.ForGradients(op.operands[sum]);
  };
  choose(0);
  const Values own = CallShard(op, attention, operands, /*step=*/0, builder);
  const bool needs_bias = attention.results[3] == Tensor::kBias;
  Instruction* bias_gradient =
      needs_bias ? bias.With(nullptr, own[3]) : nullptr;
  Values sums;
  for (size_t i = 0; i < 3; ++i) {
    sums.push_back(builder.Convert(kRingType, own[i]));
  }
  const int64_t count = builder.mesh().Size(ring);
  for (int64_t step = 1; step < count; ++step) {
    for (size_t i = 1; i < 3; ++i) {
      operands[i] = PassOn(operands[i], ring, builder);
      sums[i] = PassOn(sums[i], ring, builder);
    }
    choose(step);
    const Values block = CallShard(op, attention, operands, step, builder);
    if (needs_bias) {
      Instruction* part = block[3];
      if (attention.causal) {
        part = ValueIf(ComesBefore(step, ring, builder), part, 0, builder);
      }
      bias_gradient = bias.With(bias_gradient, part);
    }
    for (size_t i = 0; i < 3; ++i) {
      Instruction* part = builder.Convert(kRingType, block[i]);
      if (attention.causal) {
        part = ValueIf(ComesBefore(step, ring, builder), part, 0, builder);
      }
      sums[i] = builder.Binary(Opcode::kAdd, sums[i], part);
    }
  }
  Values results;
  for (size_t i = 0; i < 3; ++i) {
    // The gradients return to the device whose keys they are of.
    if (i > 0) sums[i] = PassOn(sums[i], ring, builder);
    results.push_back(builder.Convert(own[i]->shape.element_type, sums[i]));
  }
  if (needs_bias) results.push_back(bias_gradient);
  results.push_back(own.back());
  return results;
}

}  // namespace meshwright
