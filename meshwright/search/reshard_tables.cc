#include "meshwright/search/reshard_tables.h"

#include <algorithm>
#include <utility>

#include "meshwright/partition/partition.h"
#include "meshwright/search/cost_units.h"

namespace meshwright {

std::vector<int32_t> ReshardTables::NumbersOf(
    const std::vector<ShardingId>& forms) const {
  std::vector<int32_t> numbers;
  numbers.reserve(forms.size());
  for (const ShardingId form : forms) {
    numbers.push_back(resharder_.Number(pool_[form]));
  }
  return numbers;
}

// What others of a combined all-reduce take of its latency.
double ReshardTables::Saved(ElementType type, const Sharding& from,
                            const Sharding& to, double share) {
  double saved = 0;
  for (const ReshardStep& step : resharder_.Path(type, from, to)) {
    if (step.kind != MoveKind::kAllReduce) continue;
    const double latency =
        resharder_.prices().Of(step.kind, step.axes.Bits()).latency;
    if (latency >= kForbiddenSeconds) return 0;
    double bytes = static_cast<double>(BitWidth(type)) / 8;
    for (const int64_t size : LocalDimensions(step.after, resharder_.mesh())) {
      bytes *= static_cast<double>(size);
    }
    const double filled = bytes / static_cast<double>(kMaxCombinedBytes);
    const double own = std::clamp(filled, share, 1.0);
    saved += (1 - further_array_) * (1 - own) * latency;
  }
  return saved;
}

std::vector<double> ReshardTables::SecondsFrom(
    const GroupValue& value, ShardingId from, const std::vector<ShardingId>& to,
    const std::vector<int32_t>& numbers) {
  const ElementType type = value.shape->element_type;
  const bool is_joint =
      value.latency_share < 1 && further_array_ < 1 && pool_[from].IsPending();
  const int32_t number = resharder_.Number(pool_[from]);
  std::vector<double> seconds;
  seconds.reserve(to.size());
  for (size_t i = 0; i < to.size(); ++i) {
    double each = resharder_.Price(type, number, numbers[i]);
    if (is_joint && each < kForbiddenSeconds) {
      each -= Saved(type, pool_[from], pool_[to[i]], value.latency_share);
    }
    seconds.push_back(each);
  }
  return seconds;
}

int32_t ReshardTables::TableOf(const GroupValue& value,
                               const std::vector<ShardingId>& from,
                               const std::vector<ShardingId>& to,
                               double weight) {
  const auto list = [&](const std::vector<ShardingId>& forms) {
    return lists_.try_emplace(forms, static_cast<int32_t>(lists_.size()))
        .first->second;
  };
  const auto [entry, is_new] = tables_.try_emplace(
      {BitWidth(value.shape->element_type), list(from), list(to),
       UnitsOf(weight * 1e-6), value.latency_share},
      0);
  if (!is_new) return entry->second;
  CostTable table;
  table.rows = static_cast<int32_t>(from.size());
  table.columns = static_cast<int32_t>(to.size());
  table.cells.reserve(from.size() * to.size());
  const std::vector<int32_t> numbers = NumbersOf(to);
  for (const ShardingId one : from) {
    for (const double seconds : SecondsFrom(value, one, to, numbers)) {
      table.cells.push_back(UnitsOf(seconds * weight));
    }
  }
  return entry->second = problem_.AddTable(std::move(table));
}

}  // namespace meshwright
