#include "meshwright/rules/balanced_ring.h"

#include <limits>

#include "meshwright/rules/fold_sequence.h"
#include "meshwright/rules/ring_attention.h"
#include "meshwright/rules/ring_steps.h"

namespace meshwright {
namespace {

// What the steps of a ring share.
class FoldedRing {
 public:
  FoldedRing(const LocalOp& op, const FusedAttention& attention,
             const AxisList& ring, LocalBuilder& builder)
      : op_(op), attention_(attention), ring_(ring), builder_(builder) {
    for (size_t i = 0; i < op.operands.size(); ++i) {
      const AttentionPart part = attention.operands[i];
      operands_.push_back(FoldSequence(
          op.operands[i], SequenceOf(attention, part), ring, builder));
      halves_.push_back(HalvesOfOperand(i));
    }
  }

  int64_t steps() const { return builder_.mesh().Size(ring_); }

  // On what this device has itself: halves are in order, so one mask does.
  std::vector<Instruction*> CallOwn() {
    return CallAttention(op_.instruction, operands_, /*causal=*/true, builder_);
  }

  // Brings the next keys, those of `step`.
  void Pass(int64_t step) {
    for (size_t i = 0; i < operands_.size(); ++i) {
      if (!IsOfKeys(attention_.operands[i])) continue;
      operands_[i] = PassOn(operands_[i], ring_, builder_);
      halves_[i] = HalvesOfOperand(i);
    }
    before_ = ComesBefore(step, ring_, builder_);
    behind_ = builder_.Unary(Opcode::kNot, before_);
  }

  // Late queries on early keys.
  std::vector<Instruction*> CallCrosswise() {
    std::vector<Instruction*> chosen;
    for (size_t i = 0; i < halves_.size(); ++i) {
      chosen.push_back(IsOfKeys(attention_.operands[i]) ? halves_[i].early
                                                        : halves_[i].late);
    }
    return Call(chosen);
  }

  // Early queries on early keys if they come before, late ones on late ones
  // otherwise.
  std::vector<Instruction*> CallSameSide() {
    std::vector<Instruction*> chosen;
    for (const Halves& half : halves_) {
      Instruction* is_early =
          builder_.Broadcast(before_, half.early->shape.dimensions);
      chosen.push_back(builder_.Select(is_early, half.early, half.late));
    }
    return Call(chosen);
  }

  Instruction* before() const { return before_; }
  Instruction* behind() const { return behind_; }

  // Adds what CallSameSide made.
  void AddSameSide(Instruction* part, Halves& sums) {
    part = builder_.Convert(kRingType, part);
    AddTo(sums.early, ValueIf(before_, part, 0, builder_));
    AddTo(sums.late, ValueIf(behind_, part, 0, builder_));
  }
  void AddTo(Instruction*& sum, Instruction* part) {
    sum = builder_.Binary(Opcode::kAdd, sum, builder_.Convert(kRingType, part));
  }

  Halves Wide(Instruction* result) {
    return HalvesOf(builder_.Convert(kRingType, result), kResultSequence,
                    builder_);
  }
  void PassHalves(Halves& halves) {
    halves = {.early = PassOn(halves.early, ring_, builder_),
              .late = PassOn(halves.late, ring_, builder_)};
  }
  Instruction* Unfolded(const Halves& halves, ElementType type) {
    Instruction* both = builder_.Convert(
        type,
        builder_.Concatenate({halves.early, halves.late}, kResultSequence));
    return UnfoldSequence(both, kResultSequence, ring_, builder_);
  }

 private:
  std::vector<Instruction*> Call(const std::vector<Instruction*>& operands) {
    return CallAttention(op_.instruction, operands, /*causal=*/false, builder_);
  }
  Halves HalvesOfOperand(size_t i) {
    return HalvesOf(operands_[i],
                    SequenceOf(attention_, attention_.operands[i]), builder_);
  }

  const LocalOp& op_;
  const FusedAttention& attention_;
  const AxisList& ring_;
  LocalBuilder& builder_;
  std::vector<Instruction*> operands_;  // Folded; keys are those of the step.
  std::vector<Halves> halves_;
  Instruction* before_ = nullptr;  // pred[]: the keys are of a device before.
  Instruction* behind_ = nullptr;
};

}  // namespace

bool IsWorthBalancing(const LocalOp& op, const FusedAttention& attention,
                      const AxisList& ring, LocalBuilder& builder) {
  const std::vector<int64_t>& query = op.operands[0]->shape.dimensions;
  const int64_t sequence = SequenceOf(attention, AttentionPart::kQuery);
  const int64_t devices = builder.mesh().Size(ring);
  if (!attention.causal || attention.OperandOf(AttentionPart::kBias) >= 0 ||
      attention.OperandOf(AttentionPart::kLengths) >= 0 ||
      attention.dropout > 0 || devices < 2 || query[sequence] % 2 != 0) {
    return false;
  }
  FusedAttention block = attention;
  block.causal = false;
  block.batch = query[0];
  block.query_heads = query[attention.heads_first ? 1 : 2];
  block.queries = block.keys = query[sequence];
  const double spared = static_cast<double>(devices - 1) * block.Flops() / 2;
  // All operands are folded, and what is no workspace unfolded: of the same
  // sizes as queries, keys and values.
  double moves = 0;
  const auto add = [&](const Instruction* value) {
    const double half = static_cast<double>(ByteSize(value->shape)) / 2;
    moves += 2 * builder.program().PermuteInFlops(ring, half);
  };
  for (const Instruction* operand : op.operands) add(operand);
  add(op.operands[0]);
  if (attention.backward) {
    add(op.operands[1]);
    add(op.operands[2]);
  }
  return spared > moves;
}

std::vector<Instruction*> BalancedForward(const LocalOp& op,
                                          const FusedAttention& attention,
                                          const AxisList& ring,
                                          LocalBuilder& builder) {
  FoldedRing folded(op, attention, ring, builder);
  const std::vector<Instruction*> own = folded.CallOwn();
  const Halves outputs = folded.Wide(own[0]);
  const Halves sums = HalvesOf(own[1], kResultSequence, builder);
  PartialAttention early{.output = outputs.early, .sum = sums.early};
  PartialAttention late{.output = outputs.late, .sum = sums.late};
  const auto join = [&](PartialAttention& all,
                        const std::vector<Instruction*>& block,
                        Instruction* condition) {
    PartialAttention part{.output = builder.Convert(kRingType, block[0]),
                          .sum = block[1]};
    if (condition != nullptr) {
      part.sum = ValueIf(condition, part.sum,
                         -std::numeric_limits<double>::infinity(), builder);
    }
    all = JoinPartials(all, part, builder);
  };
  for (int64_t step = 1; step < folded.steps(); ++step) {
    folded.Pass(step);
    join(late, folded.CallCrosswise(), nullptr);
    const std::vector<Instruction*> same = folded.CallSameSide();
    join(early, same, folded.before());
    join(late, same, folded.behind());
  }
  const Halves output{.early = early.output, .late = late.output};
  const Halves sum{.early = early.sum, .late = late.sum};
  return {folded.Unfolded(output, own[0]->shape.element_type),
          folded.Unfolded(sum, own[1]->shape.element_type), own[2]};
}

std::vector<Instruction*> BalancedBackward(const LocalOp& op,
                                           const FusedAttention& attention,
                                           const AxisList& ring,
                                           LocalBuilder& builder) {
  FoldedRing folded(op, attention, ring, builder);
  const std::vector<Instruction*> own = folded.CallOwn();
  Halves queries = folded.Wide(own[0]);
  Halves keys[] = {folded.Wide(own[1]), folded.Wide(own[2])};
  for (int64_t step = 1; step < folded.steps(); ++step) {
    folded.Pass(step);
    const std::vector<Instruction*> crosswise = folded.CallCrosswise();
    const std::vector<Instruction*> same = folded.CallSameSide();
    folded.AddTo(queries.late, crosswise[0]);
    folded.AddSameSide(same[0], queries);
    for (size_t i = 0; i < 2; ++i) {
      folded.PassHalves(keys[i]);
      folded.AddTo(keys[i].early, crosswise[i + 1]);
      folded.AddSameSide(same[i + 1], keys[i]);
    }
  }
  std::vector<Instruction*> results = {
      folded.Unfolded(queries, own[0]->shape.element_type)};
  for (size_t i = 0; i < 2; ++i) {
    // The gradients return to the device whose keys they are of.
    folded.PassHalves(keys[i]);
    results.push_back(folded.Unfolded(keys[i], own[i + 1]->shape.element_type));
  }
  results.push_back(own[3]);
  return results;
}

}  // namespace meshwright
