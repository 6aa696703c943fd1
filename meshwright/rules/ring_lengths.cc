#include "meshwright/rules/ring_lengths.h"

#include "meshwright/rules/ring_attention.h"

namespace meshwright {

LengthsInCalls::LengthsInCalls(const LocalOp& op,
                               const FusedAttention& attention,
                               const AxisList& ring, LocalBuilder& builder)
    : operand_(attention.OperandOf(AttentionPart::kLengths)),
      ring_(ring),
      builder_(builder) {
  if (!exist()) return;
  const int64_t sequence = SequenceOf(attention, AttentionPart::kQuery);
  rows_ = op.operands[0]->shape.dimensions[sequence];
  queries_ = Within(op.operands[operand_],
                    StartOfKeys(/*step=*/0, rows_, ring, builder), rows_);
  all_keys_ = op.operands[operand_ + 1];
}

void LengthsInCalls::Choose(Instruction* queries, Instruction* start,
                            int64_t count,
                            std::vector<Instruction*>& operands) {
  Instruction* keys = Within(all_keys_, start, count);
  has_keys_ = builder_.Compare("GT", keys, Number(0, keys));
  operands[operand_] = AtLeastOne(queries);
  operands[operand_ + 1] = AtLeastOne(keys);
}

void LengthsInCalls::ChooseStep(int64_t step,
                                std::vector<Instruction*>& operands) {
  if (!exist()) return;
  Choose(queries_, StartOfKeys(step, rows_, ring_, builder_), rows_, operands);
}

void LengthsInCalls::ChooseRange(Instruction* before, Instruction* start,
                                 int64_t count,
                                 std::vector<Instruction*>& operands) {
  if (!exist()) return;
  Instruction* others =
      builder_.Broadcast(builder_.Convert(queries_->shape.element_type, before),
                         queries_->shape.dimensions);
  Choose(builder_.Binary(Opcode::kAdd, queries_, others), start, count,
         operands);
}

PartialAttention LengthsInCalls::Seen(const PartialAttention& block) {
  if (!exist()) return block;
  return Visible(
      builder_.BroadcastInDim(has_keys_, block.sum->shape.dimensions, {0}),
      block, builder_);
}

PartialAttention LengthsInCalls::Finished(const PartialAttention& all) {
  if (!exist()) return all;
  const std::vector<int64_t>& sizes = all.output->shape.dimensions;
  Instruction* real = IsReal(all.sum);
  return {
      .output = builder_.Select(builder_.BroadcastInDim(real, sizes, {0, 1, 2}),
                                all.output, Number(0, all.output)),
      .sum = builder_.Select(real, all.sum, Number(0, all.sum))};
}

Instruction* LengthsInCalls::ForGradients(Instruction* sum) {
  if (!exist()) return sum;
  Instruction* seen = builder_.Binary(
      Opcode::kAnd, IsReal(sum),
      builder_.BroadcastInDim(has_keys_, sum->shape.dimensions, {0}));
  return builder_.Select(seen, sum, Number(1e30, sum));
}

Instruction* LengthsInCalls::Number(double number, const Instruction* like) {
  return builder_.Broadcast(builder_.Constant(like->shape.element_type, number),
                            like->shape.dimensions);
}

Instruction* LengthsInCalls::Within(Instruction* lengths, Instruction* start,
                                    int64_t count) {
  Instruction* after = builder_.Binary(
      Opcode::kSubtract, lengths,
      builder_.Broadcast(builder_.Convert(lengths->shape.element_type, start),
                         lengths->shape.dimensions));
  after = builder_.Binary(Opcode::kMaximum, after, Number(0, after));
  return builder_.Binary(Opcode::kMinimum, after,
                         Number(static_cast<double>(count), after));
}

Instruction* LengthsInCalls::AtLeastOne(Instruction* lengths) {
  return builder_.Binary(Opcode::kMaximum, lengths, Number(1, lengths));
}

Instruction* LengthsInCalls::IsReal(const Instruction* sum) {
  const std::vector<int64_t>& sizes = sum->shape.dimensions;
  return builder_.Compare("LT",
                          builder_.Iota(queries_->shape.element_type, sizes, 2),
                          builder_.BroadcastInDim(queries_, sizes, {0}));
}

}  // namespace meshwright
