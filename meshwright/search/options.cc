#include "meshwright/search/options.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "meshwright/partition/assignment.h"
#include "meshwright/partition/tensor_pins.h"
#include "meshwright/rules/island.h"
#include "meshwright/search/problem_policy.h"

namespace meshwright {
namespace {

AxisOrder MeshOrder(const Mesh& mesh) {
  AxisOrder order(mesh.axes().size());
  std::iota(order.begin(), order.end(), 0);
  return order;
}

// The order of the axes that split a dimension, then the others; empty if it is
// the mesh's own.
AxisOrder OrderIn(const AxisList& axes, const Mesh& mesh) {
  // Where its first part is; past the end if it has none.
  const auto place = [&](int32_t axis) {
    const uint32_t parts = mesh.SubAxes(axis).Bits();
    size_t at = 0;
    while (at < axes.size() && (parts >> axes[at] & 1) == 0) ++at;
    return at;
  };
  AxisOrder order = MeshOrder(mesh);
  std::ranges::stable_sort(order, {}, place);
  const auto others = std::ranges::find(order, axes.size(), place);
  return std::is_sorted(order.begin(), others) ? AxisOrder() : order;
}

Option OptionOf(const Rule& rule, const Strategy& strategy, const Mesh& mesh,
                ShardingPool& pool) {
  Option option{.strategy = strategy};
  for (size_t i = 0; i < rule.operands.size(); ++i) {
    option.operands.push_back(pool.Intern(
        OperandSharding(rule, strategy, static_cast<int32_t>(i), mesh)));
  }
  for (size_t i = 0; i < rule.results.size(); ++i) {
    option.results.push_back(pool.Intern(
        ResultSharding(rule, strategy, static_cast<int32_t>(i), mesh)));
  }
  return option;
}

// As far as the rule permits: everything that the pins ask for, and nothing
// else.
Strategy StrategyFor(const Rule& rule, absl::Span<const GroupPin> pins,
                     const Mesh& mesh) {
  const auto operands = static_cast<int32_t>(rule.operands.size());
  Strategy all = ReplicatedStrategy(rule);
  for (const GroupPin& pin : pins) {
    const TensorFactors& tensor = pin.tensor < operands
                                      ? rule.operands[pin.tensor]
                                      : rule.results[pin.tensor - operands];
    all = Merged(rule, all, StrategyFor(rule, tensor, pin.asked.sharding, mesh),
                 mesh);
  }
  return all;
}

class Enumerator {
 public:
  Enumerator(const Rule& rule, const Mesh& mesh, ShardingPool& pool,
             const AxisPlaces* fixed, int32_t free)
      : rule_(rule), mesh_(mesh), pool_(pool), fixed_(fixed), free_(free) {}

  std::vector<Option> Run(bool may_pend,
                          absl::Span<const AxisOrder> others) && {
    order_ = MeshOrder(mesh_);
    PlaceAll(may_pend);
    for (const AxisOrder& other : others) {
      order_ = other;
      PlaceAll(may_pend);
    }
    return std::move(options_);
  }

 private:
  void PlaceAll(bool may_pend) {
    Strategy strategy = ReplicatedStrategy(rule_);
    linear_ = -1;
    Place(0, strategy);
    if (!may_pend) return;
    for (size_t i = 0; i < rule_.linear.size(); ++i) {
      const std::optional<Reduction>& reduction = rule_.linear[i].reduction;
      if (reduction.has_value() && *reduction != Reduction::kSum) continue;
      linear_ = static_cast<int32_t>(i);
      Place(0, strategy);
    }
  }

  void Place(size_t number, Strategy& strategy) {
    if (number == order_.size()) {
      if ((linear_ < 0) == strategy.pending.empty()) Add(strategy);
      return;
    }
    const int32_t axis = order_[number];
    if (MayBe(axis, kNowhere)) Place(number + 1, strategy);
    const AxisList axes = mesh_.SubAxes(axis);
    if (axes.empty() || rule_.is_fallback) return;
    if (linear_ >= 0 && MayBe(axis, kPends)) {
      const Strategy before = strategy;
      strategy.linear = linear_;
      strategy.reduction = Reduction::kSum;
      strategy.pending.Append(axes);
      std::sort(strategy.pending.begin(), strategy.pending.end());
      if (IsValid(rule_, strategy, mesh_)) Place(number + 1, strategy);
      strategy = before;
    }
    for (size_t i = 0; i < rule_.factors.size(); ++i) {
      const int32_t factor = static_cast<int32_t>(i);
      if (!MaySplit(factor) || !MayBe(axis, factor)) continue;
      const Strategy before = strategy;
      AxisList all = strategy.factor_axes[factor];
      all.Append(axes);
      SetAxes(rule_, factor, all, strategy);
      if (Fits(factor, strategy)) Place(number + 1, strategy);
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
    return split <= size * (1 + kProblemPolicy.most_padding);
  }

  void Add(const Strategy& strategy) {
    // Strategies that do not depend on the order are there already.
    if (!std::ranges::is_sorted(order_) &&
        std::ranges::find(options_, strategy, &Option::strategy) !=
            options_.end()) {
      return;
    }
    options_.push_back(OptionOf(rule_, strategy, mesh_, pool_));
  }

  const Rule& rule_;
  const Mesh& mesh_;
  ShardingPool& pool_;
  const AxisPlaces* const fixed_;
  const int32_t free_;
  AxisOrder order_;
  // The rule's linear form in which partial sums pass, if any.
  int32_t linear_ = -1;
  std::vector<Option> options_;
};

}  // namespace

AxisPlaces AxisPlacesOf(const Strategy& strategy, const Mesh& mesh) {
  AxisPlaces places;
  for (size_t i = 0; i < mesh.axes().size(); ++i) {
    const uint32_t bits = mesh.SubAxes(static_cast<int32_t>(i)).Bits();
    int32_t place = (strategy.pending.Bits() & bits) != 0 ? kPends : kNowhere;
    for (size_t f = 0; f < strategy.factor_axes.size(); ++f) {
      if ((strategy.factor_axes[f].Bits() & bits) != 0) {
        place = static_cast<int32_t>(f);
        break;
      }
    }
    places.push_back(place);
  }
  return places;
}

std::vector<AxisOrder> OtherOrders(const GroupPins& pins, const Mesh& mesh) {
  std::vector<AxisOrder> others;
  for (const auto& [group, list] : pins) {
    for (const GroupPin& pin : list) {
      for (const DimSharding& dim : pin.asked.sharding.dims) {
        AxisOrder order = OrderIn(AxesOf(dim), mesh);
        if (!order.empty() && !std::ranges::count(others, order)) {
          others.push_back(std::move(order));
        }
      }
    }
  }
  return others;
}

std::vector<Option> OptionsOf(const Rule& rule, const Mesh& mesh,
                              ShardingPool& pool, bool may_pend,
                              absl::Span<const AxisOrder> others,
                              const AxisPlaces* fixed, int32_t free) {
  if (!rule.manual_axes.empty()) {
    std::vector<Option> options;
    for (const Strategy& strategy : ManualStrategies(rule, mesh)) {
      options.push_back(OptionOf(rule, strategy, mesh, pool));
    }
    return options;
  }
  return Enumerator(rule, mesh, pool, fixed, free).Run(may_pend, others);
}

std::vector<Option> PinnedOptions(const Rule& rule, const Mesh& mesh,
                                  ShardingPool& pool, bool may_pend,
                                  absl::Span<const AxisOrder> others,
                                  absl::Span<const GroupPin> pins) {
  std::vector<Option> options = OptionsOf(rule, mesh, pool, may_pend, others);
  const Strategy asked = StrategyFor(rule, pins, mesh);
  // Islands have no other options.
  const size_t usual = rule.manual_axes.empty() ? options.size() : 0;
  for (size_t i = 0; i < usual; ++i) {
    const Strategy strategy = Merged(rule, asked, options[i].strategy, mesh);
    if (std::ranges::find(options, strategy, &Option::strategy) ==
        options.end()) {
      options.push_back(OptionOf(rule, strategy, mesh, pool));
    }
  }
  std::erase_if(options, [&](const Option& option) {
    return !std::ranges::all_of(
        pins, [&](const GroupPin& pin) { return Keeps(option, pin, pool); });
  });
  return options;
}

bool Keeps(const Option& option, const GroupPin& pin,
           const ShardingPool& pool) {
  const auto operands = static_cast<int32_t>(option.operands.size());
  return Meets(
      pool[pin.tensor < operands ? option.operands[pin.tensor]
                                 : option.results[pin.tensor - operands]],
      pin.asked);
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
