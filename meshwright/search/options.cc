#include "meshwright/search/options.h"

#include <algorithm>
#include <optional>

#include "meshwright/partition/assignment.h"

namespace meshwright {
namespace {

// Padding may add this part to a dimension.
constexpr double kMaxWaste = 0.125;

class Enumerator {
 public:
  Enumerator(const Rule& rule, const Mesh& mesh, ShardingPool& pool,
             const AxisPlaces* fixed, int32_t free)
      : rule_(rule), mesh_(mesh), pool_(pool), fixed_(fixed), free_(free) {}

  std::vector<Option> Run(bool may_pend) && {
    Strategy strategy = ReplicatedStrategy(rule_);
    Place(0, strategy);
    if (!may_pend) return std::move(options_);
    for (size_t i = 0; i < rule_.linear.size(); ++i) {
      const std::optional<Reduction>& reduction = rule_.linear[i].reduction;
      if (reduction.has_value() && *reduction != Reduction::kSum) continue;
      linear_ = static_cast<int32_t>(i);
      Place(0, strategy);
    }
    return std::move(options_);
  }

 private:
  void Place(int32_t axis, Strategy& strategy) {
    if (axis == static_cast<int32_t>(mesh_.axes().size())) {
      if ((linear_ < 0) == strategy.pending.empty()) Add(strategy);
      return;
    }
    if (MayBe(axis, kNowhere)) Place(axis + 1, strategy);
    const AxisList axes = mesh_.SubAxes(axis);
    if (axes.empty() || rule_.is_fallback) return;
    if (linear_ >= 0 && MayBe(axis, kPends)) {
      const Strategy before = strategy;
      strategy.linear = linear_;
      strategy.reduction = Reduction::kSum;
      strategy.pending.Append(axes);
      if (IsValid(rule_, strategy, mesh_)) Place(axis + 1, strategy);
      strategy = before;
    }
    for (size_t i = 0; i < rule_.factors.size(); ++i) {
      const int32_t factor = static_cast<int32_t>(i);
      if (!MaySplit(factor) || !MayBe(axis, factor)) continue;
      const Strategy before = strategy;
      AxisList all = strategy.factor_axes[factor];
      all.Append(axes);
      SetAxes(rule_, factor, all, strategy);
      if (Fits(factor, strategy)) Place(axis + 1, strategy);
      strategy = before;
    }
  }

  bool MayBe(int32_t axis, int32_t place) const {
    return fixed_ == nullptr || axis == free_ || (*fixed_)[axis] == place;
  }

  bool MaySplit(int32_t factor) const {
    const Factor& f = rule_.factors[factor];
    return f.tied < 0 && f.size > 1 &&
           (f.kind == FactorKind::kKept || f.kind == FactorKind::kReduced);
  }

  bool Fits(int32_t factor, const Strategy& strategy) const {
    if (!IsValid(rule_, strategy, mesh_)) return false;
    const double size = static_cast<double>(rule_.factors[factor].size);
    const double split =
        static_cast<double>(LocalFactorSize(rule_, strategy, factor, mesh_) *
                            mesh_.Size(strategy.factor_axes[factor]));
    return split <= size * (1 + kMaxWaste);
  }

  void Add(const Strategy& strategy) {
    Option option{.strategy = strategy};
    for (size_t i = 0; i < rule_.operands.size(); ++i) {
      option.operands.push_back(pool_.Intern(
          OperandSharding(rule_, strategy, static_cast<int32_t>(i), mesh_)));
    }
    for (size_t i = 0; i < rule_.results.size(); ++i) {
      option.results.push_back(pool_.Intern(
          ResultSharding(rule_, strategy, static_cast<int32_t>(i), mesh_)));
    }
    options_.push_back(std::move(option));
  }

  const Rule& rule_;
  const Mesh& mesh_;
  ShardingPool& pool_;
  const AxisPlaces* const fixed_;
  const int32_t free_;
  int32_t linear_ = -1;  // The way in which partial sums pass, if they do.
  std::vector<Option> options_;
};

}  // namespace

std::vector<Option> OptionsOf(const Rule& rule, const Mesh& mesh,
                              ShardingPool& pool, bool may_pend,
                              const AxisPlaces* fixed, int32_t free) {
  return Enumerator(rule, mesh, pool, fixed, free).Run(may_pend);
}

double LocalBytes(const Shape& shape, const Sharding& sharding,
                  const Mesh& mesh) {
  double bits = static_cast<double>(BitWidth(shape.element_type));
  for (const int64_t size : LocalDimensions(sharding, mesh)) {
    bits *= static_cast<double>(size);
  }
  return bits / 8;
}

}  // namespace meshwright
