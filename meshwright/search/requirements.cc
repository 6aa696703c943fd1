#include "meshwright/search/requirements.h"

#include <algorithm>
#include <utility>

namespace meshwright {

OptionMaker::OptionMaker(const StepModel& model, const Mesh& mesh,
                         const Requirements& requirements, ShardingPool& pool)
    : model_(model),
      mesh_(mesh),
      requirements_(requirements),
      pool_(pool),
      other_orders_(OtherOrders(requirements.pins, mesh)) {}

std::vector<Option> OptionMaker::For(GroupId group,
                                     const OneAxisFree* only) const {
  const auto pins = requirements_.pins.find(group);
  std::vector<Option> pinned;
  if (pins != requirements_.pins.end()) {
    pinned = PinnedOptions(model_.rule(group), mesh_, pool_,
                           model_.may_pend[group], other_orders_, pins->second);
    if (!requirements_.offers_only) return pinned;
  }
  std::vector<Option> options = AsExpert(group, only);
  // State that `only` leaves without any option has all, and so has its next
  // value: both have the same sharding.
  const auto is_free_state = [&](const std::pair<GroupId, GroupId>& pair) {
    return pair.second == group && AsExpert(pair.first, only).empty();
  };
  if (only != nullptr &&
      (options.empty() ||
       (requirements_.expert &&
        std::ranges::any_of(model_.state_pairs, is_free_state)))) {
    options = AsExpert(group, nullptr);
  }
  for (Option& option : pinned) {
    if (std::ranges::find(options, option.strategy, &Option::strategy) ==
        options.end()) {
      options.push_back(std::move(option));
    }
  }
  return options;
}

std::vector<Option> OptionMaker::OfRule(GroupId group,
                                        const OneAxisFree* only) const {
  const Rule& rule = model_.rule(group);
  const bool may_pend = model_.may_pend[group];
  if (only == nullptr) {
    return OptionsOf(rule, mesh_, pool_, may_pend, other_orders_);
  }
  const auto free_along = [&](int32_t axis) {
    return OptionsOf(rule, mesh_, pool_, may_pend, other_orders_,
                     &only->places[group], axis);
  };
  if (only->free != OneAxisFree::kAnyAxis) return free_along(only->free);
  std::vector<Option> options;
  for (int32_t axis = 0; axis < std::ssize(mesh_.axes()); ++axis) {
    for (Option& option : free_along(axis)) {
      if (std::ranges::find(options, option.strategy, &Option::strategy) ==
          options.end()) {
        options.push_back(std::move(option));
      }
    }
  }
  return options;
}

std::vector<Option> OptionMaker::AsExpert(GroupId group,
                                          const OneAxisFree* only) const {
  const Rule& rule = model_.rule(group);
  std::vector<Option> options = OfRule(group, only);
  // Islands keep their options, whatever the strategy of the rest.
  if (!requirements_.expert || !rule.manual_axes.empty()) return options;
  const bool is_output = model_.op(group).kind == OpKind::kOutput;
  const Sharding none;
  std::erase_if(options, [&](const Option& option) {
    const Sharding& sharding = is_output ? pool_[option.operands[0]]
                               : option.results.empty()
                                   ? none
                                   : pool_[option.results[0]];
    return !requirements_.expert(group, sharding);
  });
  return options;
}

}  // namespace meshwright
