#include "meshwright/analysis/blocks.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "meshwright/analysis/fingerprint.h"

namespace meshwright {
namespace {

// The origin of an op's operands: a block, or one of these.
constexpr int32_t kSource = -1;  // Parameters and constants alone.
constexpr int32_t kMixed = -2;   // Several blocks, or ops in no block.

class Builder {
 public:
  Builder(const FlatGraph& graph, const std::vector<Rule>& rules)
      : graph_(graph),
        rules_(rules),
        origin_(graph.ops.size(), kSource),
        labels_(graph.ops.size()) {}

  Blocks Build() {
    const Origins origins(graph_, rules_);
    for (Family& family : FindFamilies(graph_, rules_, origins)) {
      Block block{.key = family[0].op};
      for (LabelledOp& member : family) {
        block.contractions.push_back(member.op);
        Assign(member.op, std::ssize(blocks_), std::move(member.labels));
      }
      blocks_.push_back(std::move(block));
    }
    TakeReaders();
    // Only now are the origins of a loop's stacks and sums known.
    if (TakeCollected()) TakeReaders();
    TakeInputs();
    LabelReaders();
    return Finish();
  }

 private:
  bool IsAssigned(OpId op) const { return origin_[op] >= 0; }

  void Assign(OpId op, int64_t block, FactorLabels labels) {
    origin_[op] = static_cast<int32_t>(block);
    labels_[op] = std::move(labels);
  }

  OpId ProducerOf(ValueId value) const { return graph_.values[value].producer; }

  bool IsOfFamily(OpId op) const {
    return IsFamilyMember(graph_.ops[op], rules_[op]);
  }

  // The labels of a value that a member produces.
  DimLabels ResultLabels(ValueId value) const {
    const OpId op = ProducerOf(value);
    return LabelsOf(rules_[op], rules_[op].results[graph_.values[value].result],
                    labels_[op]);
  }

  // Whether a loop-carried value is a stack or a sum: its next value is
  // computed from itself and something new.
  bool Collects(const FlatOp& carry) const {
    if (carry.operands.size() != 2) return false;
    const FlatOp& after = graph_.producer(carry.operands[1]);
    if (!after.live || after.kind != OpKind::kCompute) return false;
    switch (after.instruction->opcode) {
      case Opcode::kAdd:
        return after.operands[0] == carry.first_result ||
               after.operands[1] == carry.first_result;
      case Opcode::kDynamicUpdateSlice:
        return after.operands[0] == carry.first_result;
      default:
        return false;
    }
  }

  bool IsInvariant(const FlatOp& carry) const {
    return carry.operands.size() == 2 &&
           carry.operands[1] == carry.first_result;
  }

  // Whether the op passes its operands on unchanged: branches and outputs.
  static bool PassesOn(const FlatOp& op) {
    return op.kind == OpKind::kEnter || op.kind == OpKind::kMerge ||
           op.kind == OpKind::kOutput;
  }

  // The origin of an op's operands: a block, kSource or kMixed.
  int32_t OriginOf(OpId id) const {
    const FlatOp& op = graph_.ops[id];
    int32_t origin = kSource;
    size_t operands = op.operands.size();
    if (op.kind == OpKind::kCarry) {
      if (!IsInvariant(op) && !Collects(op)) return kMixed;
      operands = 1;  // The other operand is computed by later ops.
    }
    for (size_t i = 0; i < operands; ++i) {
      const int32_t from = origin_[ProducerOf(op.operands[i])];
      // Scalars are replicated; they impose nothing.
      if (from == kSource || rules_[id].operands[i].empty()) continue;
      if (from == kMixed || (origin != kSource && origin != from)) {
        return kMixed;
      }
      origin = from;
    }
    return origin;
  }

  // In order: ops whose operands come from one block join it.
  void TakeReaders() {
    for (OpId i{0}; i < std::ssize(graph_.ops); ++i) {
      const FlatOp& op = graph_.ops[i];
      if (!op.live || IsAssigned(i)) continue;
      origin_[i] = OriginOf(i);
      if (origin_[i] < 0) continue;
      const Rule& rule = rules_[i];
      FactorLabels labels(rule.factors.size(), kNoLabel);
      if (PassesOn(op) || rule.is_fallback ||
          !AddOperandLabels(i, origin_[i], labels) ||
          !KeepsLabel(rule, labels) || SplitsInStrides(rule, labels)) {
        origin_[i] = kMixed;
        continue;
      }
      Assign(i, origin_[i], std::move(labels));
    }
  }

  bool AddOperandLabels(OpId id, int32_t block, FactorLabels& labels) const {
    const FlatOp& op = graph_.ops[id];
    for (size_t i = 0; i < op.operands.size(); ++i) {
      if (op.kind == OpKind::kCarry && i > 0) break;
      if (origin_[ProducerOf(op.operands[i])] != block) continue;
      if (!AddLabels(rules_[id], rules_[id].operands[i],
                     ResultLabels(op.operands[i]), labels)) {
        return false;
      }
    }
    return true;
  }

  static bool KeepsLabel(const Rule& rule, const FactorLabels& labels) {
    return std::any_of(rule.results.begin(), rule.results.end(),
                       [&](const TensorFactors& tensor) {
                         return AnyLabel(LabelsOf(rule, tensor, labels));
                       });
  }

  // Stacks and sums of a loop that a block fills join the block.
  bool TakeCollected() {
    bool any = false;
    for (OpId i{0}; i < std::ssize(graph_.ops); ++i) {
      const FlatOp& op = graph_.ops[i];
      if (!op.live || op.kind != OpKind::kCarry || origin_[i] != kSource ||
          !Collects(op)) {
        continue;
      }
      const OpId writer = ProducerOf(op.operands[1]);
      if (!IsAssigned(writer)) {
        origin_[i] = origin_[writer];
      } else {
        FactorLabels labels(rules_[i].factors.size(), kNoLabel);
        AddLabels(rules_[i], rules_[i].operands[1],
                  ResultLabels(op.operands[1]), labels);
        Assign(i, origin_[writer], std::move(labels));
      }
      any = true;
    }
    return any;
  }

  // In reverse order: ops that only one block reads join it.
  void TakeInputs() {
    const std::vector<std::vector<OpId>> readers = Readers();
    for (OpId i = static_cast<OpId>(graph_.ops.size()); i-- > 0;) {
      const FlatOp& op = graph_.ops[i];
      const Rule& rule = rules_[i];
      if (IsAssigned(i)) Refine(i, readers[i]);
      if (!op.live || PassesOn(op) || IsAssigned(i) || readers[i].empty() ||
          rule.is_fallback || (op.kind == OpKind::kCarry && !IsInvariant(op))) {
        continue;
      }
      int32_t block = kSource;
      for (const OpId reader : readers[i]) {
        if (reader == i) continue;  // A loop-invariant carry reads itself.
        if (block == kSource) block = origin_[reader];
        if (block < 0 || origin_[reader] != block) block = kMixed;
        if (block == kMixed) break;
      }
      if (block < 0 || InputsFromElsewhere(i, block) > 1) continue;
      FactorLabels labels(rule.factors.size(), kNoLabel);
      if (AddOperandLabels(i, block, labels) &&
          AddReaderLabels(i, block, readers[i], labels) &&
          KeepsLabel(rule, labels) && !SplitsInStrides(rule, labels)) {
        Assign(i, block, std::move(labels));
      }
    }
  }

  // Labels dimensions that a member introduces, such as those of a broadcast,
  // as its readers in the block label them. Contractions have all their labels.
  void Refine(OpId op, const std::vector<OpId>& readers) {
    if (IsOfFamily(op)) return;
    FactorLabels labels = labels_[op];
    if (AddReaderLabels(op, origin_[op], readers, labels) &&
        !SplitsInStrides(rules_[op], labels)) {
      labels_[op] = std::move(labels);
    }
  }

  // In order again: dimensions that members read from other members get labels
  // also in the reader, even if it sums over them.
  void LabelReaders() {
    for (OpId i{0}; i < std::ssize(graph_.ops); ++i) {
      if (!graph_.ops[i].live || !IsAssigned(i) || IsOfFamily(i)) continue;
      FactorLabels labels = labels_[i];
      if (AddOperandLabels(i, origin_[i], labels) &&
          !SplitsInStrides(rules_[i], labels)) {
        labels_[i] = std::move(labels);
      }
    }
  }

  int64_t InputsFromElsewhere(OpId id, int32_t block) const {
    const FlatOp& op = graph_.ops[id];
    int64_t count = 0;
    for (size_t i = 0; i < op.operands.size(); ++i) {
      const OpId from = ProducerOf(op.operands[i]);
      const bool is_scalar = rules_[id].operands[i].empty();
      count += origin_[from] != kSource && origin_[from] != block && !is_scalar;
    }
    return count;
  }

  bool AddReaderLabels(OpId producer, int32_t block,
                       const std::vector<OpId>& readers,
                       FactorLabels& labels) const {
    const Rule& rule = rules_[producer];
    for (const OpId reader : readers) {
      if (reader == producer || origin_[reader] != block) continue;
      const std::vector<ValueId>& operands = graph_.ops[reader].operands;
      for (size_t i = 0; i < operands.size(); ++i) {
        const FlatValue& value = graph_.values[operands[i]];
        if (value.producer != producer) continue;
        const DimLabels dims =
            OperandLabels(rules_[reader], i, labels_[reader]);
        if (!AddLabels(rule, rule.results[value.result], dims, labels)) {
          return false;
        }
      }
    }
    return true;
  }

  // Unlike results, operands are also split along factors that are summed over.
  static DimLabels OperandLabels(const Rule& rule, size_t operand,
                                 const FactorLabels& factors) {
    const TensorFactors& tensor = rule.operands[operand];
    DimLabels dims(tensor.size(), kNoLabel);
    for (size_t i = 0; i < dims.size(); ++i) {
      const int32_t factor = MajorFactor(rule, tensor[i]);
      if (factor >= 0) dims[i] = factors[factor];
    }
    return dims;
  }

  std::vector<std::vector<OpId>> Readers() const {
    std::vector<std::vector<OpId>> readers(graph_.ops.size());
    for (OpId i{0}; i < std::ssize(graph_.ops); ++i) {
      if (!graph_.ops[i].live) continue;
      for (const ValueId operand : graph_.ops[i].operands) {
        std::vector<OpId>& of = readers[ProducerOf(operand)];
        if (of.empty() || of.back() != i) of.push_back(i);
      }
    }
    return readers;
  }

  Blocks Finish() {
    Blocks result;
    result.block_of.assign(graph_.ops.size(), -1);
    std::vector<std::map<Label, BlockSplit>> splits(blocks_.size());
    for (OpId i{0}; i < std::ssize(graph_.ops); ++i) {
      if (!graph_.ops[i].live || !IsAssigned(i)) continue;
      const int32_t index = origin_[i];
      result.block_of[i] = index;
      AddToSplits(i, splits[index]);
      BlockContradictions(i, splits[index]);
      // A sum, so that it does not depend on the order of members.
      blocks_[index].fingerprint += FingerprintOf(i);
      blocks_[index].members.push_back({i, labels_[i]});
    }
    for (size_t i = 0; i < blocks_.size(); ++i) {
      for (const auto& [label, split] : splits[i]) {
        blocks_[i].splits.push_back(split);
      }
    }
    result.blocks = std::move(blocks_);
    return result;
  }

  void AddToSplits(OpId member, std::map<Label, BlockSplit>& splits) const {
    const FactorLabels& labels = labels_[member];
    for (size_t i = 0; i < labels.size(); ++i) {
      if (labels[i] == kNoLabel) continue;
      const Factor& factor = rules_[member].factors[i];
      BlockSplit& split = splits[labels[i]];
      split.factor = labels[i];
      split.parts = std::gcd(split.parts, factor.size);
      if (factor.kind == FactorKind::kReduced) {
        ++(IsOfFamily(member) ? split.contraction_sums : split.other_sums);
      }
      split.blocked = split.blocked || factor.kind == FactorKind::kWhole ||
                      factor.kind == FactorKind::kExchanged;
    }
  }

  // Blocks labels by which a member's operand is split and the member is not.
  void BlockContradictions(OpId member,
                           std::map<Label, BlockSplit>& splits) const {
    const std::vector<ValueId>& operands = graph_.ops[member].operands;
    for (size_t i = 0; i < operands.size(); ++i) {
      if (origin_[ProducerOf(operands[i])] != origin_[member]) continue;
      const DimLabels made = ResultLabels(operands[i]);
      const DimLabels asked = OperandLabels(rules_[member], i, labels_[member]);
      for (size_t dim = 0; dim < made.size(); ++dim) {
        if (made[dim] == kNoLabel || made[dim] == asked[dim]) continue;
        splits[made[dim]].blocked = true;
      }
    }
  }

  uint64_t FingerprintOf(OpId member) const {
    const FlatOp& op = graph_.ops[member];
    const FactorLabels& labels = labels_[member];
    Fingerprint fingerprint;
    fingerprint.Add(static_cast<uint64_t>(op.kind));
    fingerprint.Add(op.instruction->opcode_name());
    if (op.kind == OpKind::kCompute) fingerprint.Add(op.instruction->shape);
    for (size_t i = 0; i < labels.size(); ++i) {
      fingerprint.Add(static_cast<uint64_t>(labels[i]));
      fingerprint.Add(static_cast<uint64_t>(rules_[member].factors[i].size));
    }
    return fingerprint.value();
  }

  const FlatGraph& graph_;
  const std::vector<Rule>& rules_;
  std::vector<Block> blocks_;
  // By op: its block, kSource or kMixed.
  std::vector<int32_t> origin_;
  std::vector<FactorLabels> labels_;  // Of members.
};

}  // namespace

Blocks FindBlocks(const FlatGraph& graph, const std::vector<Rule>& rules) {
  return Builder(graph, rules).Build();
}

}  // namespace meshwright
