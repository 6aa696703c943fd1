#include "meshwright/analysis/gradients.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "meshwright/hlo/opcode_traits.h"

namespace meshwright {

bool IsFamilyMember(const FlatOp& op, const Rule& rule) {
  if (!op.live || op.kind != OpKind::kCompute || rule.is_fallback) return false;
  return IsContraction(op.instruction->opcode) && rule.operands.size() >= 2 &&
         rule.results.size() == 1;
}

namespace {

// Largest number of contractions with a common operand that are considered
// together.
constexpr size_t kMaxSharing = 64;

bool Occurs(int32_t factor, const TensorFactors& tensor) {
  return std::any_of(tensor.begin(), tensor.end(), [&](const DimFactors& dim) {
    return std::find(dim.begin(), dim.end(), factor) != dim.end();
  });
}

// Factors that can be split without exchanging elements.
bool Splits(const Factor& factor) {
  return factor.size > 1 && (factor.kind == FactorKind::kKept ||
                             factor.kind == FactorKind::kReduced);
}

// Splittable factors of `tensor` that are not in `other`, in the order of its
// dimensions.
std::vector<int32_t> FactorsOnlyIn(const Rule& rule,
                                   const TensorFactors& tensor,
                                   const TensorFactors& other) {
  std::vector<int32_t> factors;
  for (const DimFactors& dim : tensor) {
    for (const int32_t factor : dim) {
      if (Splits(rule.factors[factor]) && !Occurs(factor, other)) {
        factors.push_back(factor);
      }
    }
  }
  return factors;
}

// The kind that a factor of the key must have in a contraction that shares
// operand `shared` with the key and computes the gradient of the other operand.
FactorKind KindInGradient(const Rule& key, int32_t factor, size_t shared) {
  if (key.factors[factor].kind == FactorKind::kReduced) {
    return FactorKind::kKept;
  }
  const bool batch = Occurs(factor, key.operands[1 - shared]);
  return batch ? FactorKind::kKept : FactorKind::kReduced;
}

class Finder {
 public:
  Finder(const FlatGraph& graph, const std::vector<Rule>& rules,
         const Origins& origins)
      : graph_(graph),
        rules_(rules),
        origins_(origins),
        claimed_(graph.ops.size(), false) {
    for (OpId op{0}; op < std::ssize(graph.ops); ++op) {
      if (!IsFamilyMember(graph.ops[op], rules[op])) continue;
      contractions_.push_back(op);
      for (size_t side = 0; side < 2; ++side) {
        auto& uses = uses_[OriginOf(op, side)];
        if (uses.size() < kMaxSharing) uses.push_back({op, side});
      }
    }
  }

  std::vector<Family> Find() {
    // First the certain ones: both gradients exist and read the same value.
    for (const OpId key : contractions_) AddFamily(key, /*both=*/true);
    for (const OpId key : contractions_) AddFamily(key, /*both=*/false);
    for (const OpId key : contractions_) {
      if (!claimed_[key] && !JoinsAsCopy(key)) Claim(key, {});
    }
    std::sort(families_.begin(), families_.end(),
              [](const Family& a, const Family& b) {
                return a.front().op < b.front().op;
              });
    return std::move(families_);
  }

 private:
  struct Use {
    OpId op;
    size_t side = 0;
  };

  ValueId Operand(OpId op, size_t side) const {
    return graph_.ops[op].operands[side];
  }
  uint64_t OriginOf(OpId op, size_t side) const {
    return origins_.Of(Operand(op, side));
  }
  uint64_t NumberOf(OpId op) const {
    return origins_.NumberOf(graph_.ops[op].first_result);
  }

  static FactorLabels OwnLabels(const Rule& rule) {
    FactorLabels labels(rule.factors.size(), kNoLabel);
    for (size_t i = 0; i < labels.size(); ++i) {
      if (Splits(rule.factors[i])) labels[i] = static_cast<Label>(i);
    }
    return labels;
  }

  // The labels of the shared operand's dimensions in the key.
  static DimLabels SharedLabels(const Rule& key, size_t shared) {
    DimLabels labels(key.operands[shared].size(), kNoLabel);
    for (size_t i = 0; i < labels.size(); ++i) {
      const int32_t factor = MajorFactor(key, key.operands[shared][i]);
      if (factor >= 0 && Splits(key.factors[factor])) labels[i] = factor;
    }
    return labels;
  }

  // The labels of `use.op` as the gradient of the operand of `key` that is not
  // `shared`, where operand `use.side` is the shared one.
  std::optional<FactorLabels> AsGradient(OpId key, size_t shared,
                                         const Use& use) const {
    const Rule& from = rules_[key];
    const Rule& to = rules_[use.op];
    FactorLabels labels(to.factors.size(), kNoLabel);
    const DimLabels dims =
        origins_.Carry(SharedLabels(from, shared), Operand(key, shared),
                       Operand(use.op, use.side));
    if (!AddLabels(to, to.operands[use.side], dims, labels)) {
      return std::nullopt;
    }
    // Every factor that both read must have changed its kind accordingly.
    for (const DimFactors& dim : from.operands[shared]) {
      for (const int32_t factor : dim) {
        if (!Splits(from.factors[factor])) continue;
        const auto found = std::find(labels.begin(), labels.end(), factor);
        if (found == labels.end()) return std::nullopt;
        const Factor& other = to.factors[found - labels.begin()];
        if (other.size != from.factors[factor].size ||
            other.kind != KindInGradient(from, factor, shared)) {
          return std::nullopt;
        }
      }
    }
    return MatchRest(from, shared, to, use.side, std::move(labels));
  }

  // Labels the factors of the other operand: those that only the key's result
  // has.
  static std::optional<FactorLabels> MatchRest(const Rule& from, size_t shared,
                                               const Rule& to, size_t side,
                                               FactorLabels labels) {
    const std::vector<int32_t> ours =
        FactorsOnlyIn(from, from.results[0], from.operands[shared]);
    std::vector<int32_t> theirs =
        FactorsOnlyIn(to, to.operands[1 - side], to.operands[side]);
    if (ours.size() != theirs.size()) return std::nullopt;
    for (const int32_t factor : ours) {
      const auto match =
          std::find_if(theirs.begin(), theirs.end(), [&](int32_t other) {
            return to.factors[other].size == from.factors[factor].size &&
                   to.factors[other].kind == FactorKind::kKept;
          });
      if (match == theirs.end()) return std::nullopt;
      labels[*match] = factor;
      theirs.erase(match);
    }
    return labels;
  }

  struct Gradient {
    LabelledOp op;
    uint64_t incoming = 0;  // The origin of the gradient of the key's result.
  };

  std::vector<Gradient> GradientsOf(OpId key, size_t shared) const {
    std::vector<Gradient> gradients;
    for (const Use& use : uses_.at(OriginOf(key, shared))) {
      if (use.op <= key || claimed_[use.op] ||
          NumberOf(use.op) == NumberOf(key)) {
        continue;
      }
      std::optional<FactorLabels> labels = AsGradient(key, shared, use);
      if (!labels.has_value()) continue;
      gradients.push_back(
          {{use.op, *std::move(labels)}, OriginOf(use.op, 1 - use.side)});
    }
    return gradients;
  }

  void AddFamily(OpId key, bool both) {
    if (claimed_[key] || JoinsAsCopy(key)) return;
    // Gradients of operand 1.
    std::vector<Gradient> right = GradientsOf(key, 0);
    std::vector<Gradient> left = GradientsOf(key, 1);
    for (Gradient& a : right) {
      for (Gradient& b : left) {
        if (a.incoming != b.incoming || a.op.op == b.op.op) continue;
        Claim(key, {std::move(a.op), std::move(b.op)});
        return;
      }
    }
    if (both) return;
    if (!right.empty()) {
      Claim(key, {std::move(right.front().op)});
    } else if (!left.empty()) {
      Claim(key, {std::move(left.front().op)});
    }
  }

  void Claim(OpId key, std::vector<LabelledOp> gradients) {
    Family family = {{key, OwnLabels(rules_[key])}};
    for (LabelledOp& gradient : gradients) {
      claimed_[gradient.op] = true;
      family.push_back(std::move(gradient));
    }
    claimed_[key] = true;
    for (size_t i = 0; i < family.size(); ++i) {
      members_.try_emplace(NumberOf(family[i].op), families_.size(), i);
    }
    families_.push_back(std::move(family));
  }

  // True if `op` recomputes a member of a family: it then joins that family
  // with the same factors.
  bool JoinsAsCopy(OpId op) {
    const auto known = members_.find(NumberOf(op));
    if (known == members_.end()) return false;
    const auto [family, member] = known->second;
    LabelledOp copy = {op, families_[family][member].labels};
    families_[family].push_back(std::move(copy));
    claimed_[op] = true;
    return true;
  }

  const FlatGraph& graph_;
  const std::vector<Rule>& rules_;
  const Origins& origins_;
  std::vector<OpId> contractions_;
  std::vector<bool> claimed_;
  absl::flat_hash_map<uint64_t, std::vector<Use>> uses_;  // By origin.
  std::vector<Family> families_;
  // By value: the family that computes it, and the member's position there.
  absl::flat_hash_map<uint64_t, std::pair<size_t, size_t>> members_;
};

}  // namespace

std::vector<Family> FindFamilies(const FlatGraph& graph,
                                 const std::vector<Rule>& rules,
                                 const Origins& origins) {
  return Finder(graph, rules, origins).Find();
}

}  // namespace meshwright
