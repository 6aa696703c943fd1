#include "meshwright/analysis/blocks.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "meshwright/analysis/fingerprint.h"

namespace meshwright {
namespace {

using Kind = OpGraph::Kind;

// Where an op's data come from.
constexpr int32_t kSource = -1;  // Parameters and constants alone.
constexpr int32_t kMixed = -2;   // Several blocks, or ops in none.

class Builder {
 public:
  explicit Builder(const OpGraph& graph)
      : graph_(graph),
        origin_(graph.ops.size(), kSource),
        labels_(graph.ops.size()) {}

  Blocks Build() {
    const Origins origins(graph_);
    for (Family& family : FindFamilies(graph_, origins)) {
      Block block{.key = family[0].op};
      for (LabelledOp& member : family) {
        block.contractions.push_back(member.op);
        Assign(member.op, std::ssize(blocks_), std::move(member.labels));
      }
      blocks_.push_back(std::move(block));
    }
    TakeReaders();
    // What a loop collects is known only now.
    if (TakeCollected()) TakeReaders();
    TakeInputs();
    LabelReaders();
    return Finish();
  }

 private:
  bool IsAssigned(int32_t op) const { return origin_[op] >= 0; }

  void Assign(int32_t op, int64_t block, FactorLabels labels) {
    origin_[op] = static_cast<int32_t>(block);
    labels_[op] = std::move(labels);
  }

  // The labels of a value that a member makes.
  DimLabels ResultLabels(int32_t value) const {
    const int32_t op = graph_.producers[value];
    const Rule& rule = *graph_.ops[op].rule;
    return LabelsOf(rule, rule.results[graph_.ResultIndex(value)], labels_[op]);
  }

  // A carry whose value after an iteration is made from the carry itself and
  // something new: a stack or a sum.
  bool Collects(const OpGraph::Op& carry) const {
    if (carry.operands.size() != 2) return false;
    const OpGraph::Op& after = graph_.producer(carry.operands[1]);
    if (after.kind != Kind::kCompute) return false;
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

  bool IsInvariant(const OpGraph::Op& carry) const {
    return carry.operands.size() == 2 &&
           carry.operands[1] == carry.first_result;
  }

  // What an op reads from: a block, kSource or kMixed.
  int32_t OriginOf(const OpGraph::Op& op) const {
    int32_t origin = kSource;
    size_t operands = op.operands.size();
    if (op.kind == Kind::kCarry) {
      if (!IsInvariant(op) && !Collects(op)) return kMixed;
      operands = 1;  // The other one is of later ops.
    }
    for (size_t i = 0; i < operands; ++i) {
      const int32_t from = origin_[graph_.producers[op.operands[i]]];
      // Scalars are whole everywhere; they ask for nothing.
      if (from == kSource || op.rule->operands[i].empty()) continue;
      if (from == kMixed || (origin != kSource && origin != from)) {
        return kMixed;
      }
      origin = from;
    }
    return origin;
  }

  // In order: ops that read from one block join it.
  void TakeReaders() {
    for (int32_t i = 0; i < std::ssize(graph_.ops); ++i) {
      const OpGraph::Op& op = graph_.ops[i];
      if (op.kind == Kind::kDead || IsAssigned(i)) continue;
      origin_[i] = OriginOf(op);
      if (origin_[i] < 0) continue;
      FactorLabels labels(op.rule->factors.size(), kNoLabel);
      if (op.kind == Kind::kOther || op.rule->is_fallback ||
          !AddOperandLabels(op, origin_[i], labels) ||
          !KeepsLabel(*op.rule, labels) || SplitsInStrides(*op.rule, labels)) {
        origin_[i] = kMixed;
        continue;
      }
      Assign(i, origin_[i], std::move(labels));
    }
  }

  bool AddOperandLabels(const OpGraph::Op& op, int32_t block,
                        FactorLabels& labels) const {
    for (size_t i = 0; i < op.operands.size(); ++i) {
      if (op.kind == Kind::kCarry && i > 0) break;
      if (origin_[graph_.producers[op.operands[i]]] != block) continue;
      if (!AddLabels(*op.rule, op.rule->operands[i],
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

  // Stacks and sums of a loop that a block fills join it.
  bool TakeCollected() {
    bool any = false;
    for (int32_t i = 0; i < std::ssize(graph_.ops); ++i) {
      const OpGraph::Op& op = graph_.ops[i];
      if (op.kind != Kind::kCarry || origin_[i] != kSource || !Collects(op)) {
        continue;
      }
      const int32_t writer = graph_.producers[op.operands[1]];
      if (!IsAssigned(writer)) {
        origin_[i] = origin_[writer];
      } else {
        FactorLabels labels(op.rule->factors.size(), kNoLabel);
        AddLabels(*op.rule, op.rule->operands[1], ResultLabels(op.operands[1]),
                  labels);
        Assign(i, origin_[writer], std::move(labels));
      }
      any = true;
    }
    return any;
  }

  // In reverse: what only one block reads joins it.
  void TakeInputs() {
    const std::vector<std::vector<int32_t>> readers = Readers();
    for (int32_t i = static_cast<int32_t>(graph_.ops.size()); i-- > 0;) {
      const OpGraph::Op& op = graph_.ops[i];
      if (IsAssigned(i)) Refine(i, readers[i]);
      if (op.kind == Kind::kDead || op.kind == Kind::kOther || IsAssigned(i) ||
          readers[i].empty() || op.rule->is_fallback ||
          (op.kind == Kind::kCarry && !IsInvariant(op))) {
        continue;
      }
      int32_t block = kSource;
      for (const int32_t reader : readers[i]) {
        if (reader == i) continue;  // An invariant carry reads itself.
        if (block == kSource) block = origin_[reader];
        if (block < 0 || origin_[reader] != block) block = kMixed;
        if (block == kMixed) break;
      }
      if (block < 0 || InputsFromElsewhere(op, block) > 1) continue;
      FactorLabels labels(op.rule->factors.size(), kNoLabel);
      if (AddOperandLabels(op, block, labels) &&
          AddReaderLabels(i, block, readers[i], labels) &&
          KeepsLabel(*op.rule, labels) && !SplitsInStrides(*op.rule, labels)) {
        Assign(i, block, std::move(labels));
      }
    }
  }

  // Labels what a member makes anew, such as the dimensions of a broadcast, as
  // its readers in the block do. Contractions have all their labels.
  void Refine(int32_t op, const std::vector<int32_t>& readers) {
    if (IsContraction(graph_.ops[op])) return;
    FactorLabels labels = labels_[op];
    if (AddReaderLabels(op, origin_[op], readers, labels) &&
        !SplitsInStrides(*graph_.ops[op].rule, labels)) {
      labels_[op] = std::move(labels);
    }
  }

  // In order once more: what members read from other members is labelled where
  // they read it, be it to sum over it.
  void LabelReaders() {
    for (int32_t i = 0; i < std::ssize(graph_.ops); ++i) {
      const OpGraph::Op& op = graph_.ops[i];
      if (op.kind == Kind::kDead || !IsAssigned(i) || IsContraction(op)) {
        continue;
      }
      FactorLabels labels = labels_[i];
      if (AddOperandLabels(op, origin_[i], labels) &&
          !SplitsInStrides(*op.rule, labels)) {
        labels_[i] = std::move(labels);
      }
    }
  }

  int64_t InputsFromElsewhere(const OpGraph::Op& op, int32_t block) const {
    int64_t count = 0;
    for (size_t i = 0; i < op.operands.size(); ++i) {
      const int32_t from = graph_.producers[op.operands[i]];
      const bool is_scalar = op.rule->operands[i].empty();
      count += origin_[from] != kSource && origin_[from] != block && !is_scalar;
    }
    return count;
  }

  bool AddReaderLabels(int32_t producer, int32_t block,
                       const std::vector<int32_t>& readers,
                       FactorLabels& labels) const {
    const OpGraph::Op& op = graph_.ops[producer];
    for (const int32_t reader : readers) {
      if (reader == producer || origin_[reader] != block) continue;
      const OpGraph::Op& by = graph_.ops[reader];
      for (size_t i = 0; i < by.operands.size(); ++i) {
        if (graph_.producers[by.operands[i]] != producer) continue;
        const DimLabels dims = OperandLabels(*by.rule, i, labels_[reader]);
        const int32_t result = graph_.ResultIndex(by.operands[i]);
        if (!AddLabels(*op.rule, op.rule->results[result], dims, labels)) {
          return false;
        }
      }
    }
    return true;
  }

  // Unlike results, operands are split along summed factors too.
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

  std::vector<std::vector<int32_t>> Readers() const {
    std::vector<std::vector<int32_t>> readers(graph_.ops.size());
    for (int32_t i = 0; i < std::ssize(graph_.ops); ++i) {
      if (graph_.ops[i].kind == Kind::kDead) continue;
      for (const int32_t operand : graph_.ops[i].operands) {
        std::vector<int32_t>& of = readers[graph_.producers[operand]];
        if (of.empty() || of.back() != i) of.push_back(i);
      }
    }
    return readers;
  }

  Blocks Finish() {
    Blocks result;
    result.block_of.assign(graph_.ops.size(), -1);
    std::vector<std::map<Label, BlockSplit>> splits(blocks_.size());
    for (int32_t i = 0; i < std::ssize(graph_.ops); ++i) {
      if (graph_.ops[i].kind == Kind::kDead || !IsAssigned(i)) continue;
      const int32_t index = origin_[i];
      result.block_of[i] = index;
      AddToSplits(graph_.ops[i], labels_[i], splits[index]);
      BlockContradictions(i, splits[index]);
      // A sum, so that the order of members does not matter.
      blocks_[index].fingerprint += FingerprintOf(graph_.ops[i], labels_[i]);
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

  static void AddToSplits(const OpGraph::Op& op, const FactorLabels& labels,
                          std::map<Label, BlockSplit>& splits) {
    for (size_t i = 0; i < labels.size(); ++i) {
      if (labels[i] == kNoLabel) continue;
      const Factor& factor = op.rule->factors[i];
      BlockSplit& split = splits[labels[i]];
      split.factor = labels[i];
      split.parts = std::gcd(split.parts, factor.size);
      if (factor.kind == FactorKind::kReduced) {
        ++(IsContraction(op) ? split.contraction_sums : split.other_sums);
      }
      split.blocked = split.blocked || factor.kind == FactorKind::kWhole ||
                      factor.kind == FactorKind::kExchanged;
    }
  }

  // Blocks labels that a member's operand is split by and the member is not.
  void BlockContradictions(int32_t member,
                           std::map<Label, BlockSplit>& splits) const {
    const OpGraph::Op& op = graph_.ops[member];
    for (size_t i = 0; i < op.operands.size(); ++i) {
      if (origin_[graph_.producers[op.operands[i]]] != origin_[member])
        continue;
      const DimLabels made = ResultLabels(op.operands[i]);
      const DimLabels asked = OperandLabels(*op.rule, i, labels_[member]);
      for (size_t dim = 0; dim < made.size(); ++dim) {
        if (made[dim] == kNoLabel || made[dim] == asked[dim]) continue;
        splits[made[dim]].blocked = true;
      }
    }
  }

  static uint64_t FingerprintOf(const OpGraph::Op& op,
                                const FactorLabels& labels) {
    Fingerprint fingerprint;
    fingerprint.Add(static_cast<uint64_t>(op.kind));
    fingerprint.Add(op.instruction->opcode_name());
    if (op.kind == Kind::kCompute) fingerprint.Add(op.instruction->shape);
    for (size_t i = 0; i < labels.size(); ++i) {
      fingerprint.Add(static_cast<uint64_t>(labels[i]));
      fingerprint.Add(static_cast<uint64_t>(op.rule->factors[i].size));
    }
    return fingerprint.value();
  }

  const OpGraph& graph_;
  std::vector<Block> blocks_;
  // By op: its block, or kSource or kMixed.
  std::vector<int32_t> origin_;
  std::vector<FactorLabels> labels_;  // Of members.
};

}  // namespace

Blocks FindBlocks(const OpGraph& graph) { return Builder(graph).Build(); }

}  // namespace meshwright
