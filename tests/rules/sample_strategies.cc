#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/rules/rule_oracle.h"

namespace meshwright {
namespace {

absl::string_view NameOf(FactorKind kind) {
  switch (kind) {
    case FactorKind::kKept:
      return "kept";
    case FactorKind::kReduced:
      return "reduced";
    case FactorKind::kExchanged:
      return "exchanged";
    case FactorKind::kWhole:
      return "whole";
  }
  return "?";
}

std::string TensorText(const TensorFactors& tensor) {
  return absl::StrCat("[",
                      absl::StrJoin(tensor, ",",
                                    [](std::string* out, const auto& dim) {
                                      absl::StrAppend(out,
                                                      absl::StrJoin(dim, "*"));
                                    }),
                      "]");
}

// Reductions that values of this type can be partial for.
std::vector<Reduction> ReductionsOf(ElementType type) {
  if (type == ElementType::kPred) return {Reduction::kOr, Reduction::kAnd};
  if (IsComplex(type)) return {Reduction::kSum};
  return {Reduction::kSum, Reduction::kMax, Reduction::kMin};
}

class Sampler {
 public:
  Sampler(const BuiltOp& op, const Rule& rule, const Mesh& mesh, Random& random)
      : op_(op), rule_(rule), mesh_(mesh), random_(random) {
    for (size_t i = 0; i < rule.factors.size(); ++i) {
      if (rule.factors[i].kind != FactorKind::kWhole &&
          rule.factors[i].size > 0) {
        shardable_.push_back(static_cast<int32_t>(i));
      }
    }
  }

  std::vector<Strategy> Sample(int32_t count) {
    for (const int32_t factor : shardable_) {
      Strategy strategy = Nothing();
      for (const AxisId axis : ShuffledAxes()) {
        AddAxis(strategy, factor, axis);
        if (random_() % 2 == 0) break;
      }
      Keep(strategy);
    }
    for (size_t i = 0; i < rule_.linear.size(); ++i) {
      Strategy strategy = Nothing();
      MakePending(strategy, static_cast<int32_t>(i));
      if (random_() % 2 == 0) Scatter(strategy);
      Keep(strategy);
    }
    std::shuffle(kept_.begin(), kept_.end(), random_);
    for (int32_t tries = 0;
         static_cast<int32_t>(kept_.size()) < count && tries < 10 * count;
         ++tries) {
      Strategy strategy = Nothing();
      if (!rule_.linear.empty() && random_() % 4 == 0) {
        MakePending(strategy,
                    static_cast<int32_t>(random_() % rule_.linear.size()));
      }
      Scatter(strategy);
      Keep(strategy);
    }
    return kept_;
  }

 private:
  Strategy Nothing() const {
    Strategy strategy;
    strategy.factor_axes.resize(rule_.factors.size());
    return strategy;
  }

  AxisList ShuffledAxes() {
    AxisList axes = mesh_.AllSubAxes();
    std::shuffle(axes.begin(), axes.end(), random_);
    return axes;
  }

  void AddAxis(Strategy& strategy, int32_t factor, AxisId axis) {
    const AxisList before = strategy.factor_axes[factor];
    AxisList more = before;
    more.push_back(axis);
    SetAxes(rule_, factor, more, strategy);
    if (!IsValid(rule_, strategy, mesh_)) {
      SetAxes(rule_, factor, before, strategy);
    }
  }

  // Gives most axes to random factors, where they fit.
  void Scatter(Strategy& strategy) {
    if (shardable_.empty()) return;
    for (const AxisId axis : ShuffledAxes()) {
      if (random_() % 5 == 0) continue;
      AddAxis(strategy, shardable_[random_() % shardable_.size()], axis);
    }
  }

  void MakePending(Strategy& strategy, int32_t linear) {
    const Linear& way = rule_.linear[linear];
    const ElementType type = op_.operand_leaves[way.operands[0]].element_type;
    const std::vector<Reduction> any = ReductionsOf(type);
    Strategy pending = strategy;
    pending.linear = linear;
    pending.reduction = way.reduction.value_or(any[random_() % any.size()]);
    pending.pending = {ShuffledAxes()[0]};
    for (const int32_t operand : way.operands) {
      if (op_.IsConstant(operand)) return;
    }
    if (IsValid(rule_, pending, mesh_)) strategy = pending;
  }

  void Keep(const Strategy& strategy) {
    if (IsValid(rule_, strategy, mesh_) &&
        std::find(kept_.begin(), kept_.end(), strategy) == kept_.end()) {
      kept_.push_back(strategy);
    }
  }

  const BuiltOp& op_;
  const Rule& rule_;
  const Mesh& mesh_;
  Random& random_;
  std::vector<int32_t> shardable_;
  std::vector<Strategy> kept_;
};

}  // namespace

std::vector<Strategy> SampleStrategies(const BuiltOp& op, const Rule& rule,
                                       const Mesh& mesh, Random& random,
                                       int32_t count) {
  return Sampler(op, rule, mesh, random).Sample(count);
}

std::string ToString(const Rule& rule) {
  std::string text;
  for (size_t i = 0; i < rule.factors.size(); ++i) {
    absl::StrAppend(&text, i == 0 ? "" : " ", i, ":", rule.factors[i].size, " ",
                    NameOf(rule.factors[i].kind),
                    rule.factors[i].may_pad ? "/pad" : "");
  }
  const auto tensors = [](const std::vector<TensorFactors>& list) {
    return absl::StrJoin(list, " ", [](std::string* out, const auto& tensor) {
      absl::StrAppend(out, TensorText(tensor));
    });
  };
  return absl::StrCat(text, " | ", tensors(rule.operands), " -> ",
                      tensors(rule.results));
}

std::string ToString(const Rule& rule, const Strategy& strategy,
                     const Mesh& mesh) {
  std::string text;
  for (size_t i = 0; i < rule.factors.size(); ++i) {
    if (strategy.factor_axes[i].empty()) continue;
    absl::StrAppend(&text, "factor ", i, " over ",
                    AxesToString(strategy.factor_axes[i], mesh), "; ");
  }
  if (strategy.linear >= 0) {
    absl::StrAppend(&text, "linear ", strategy.linear, " (reduction ",
                    static_cast<int>(strategy.reduction), ") pending over ",
                    AxesToString(strategy.pending, mesh));
  }
  return text;
}

}  // namespace meshwright
