// Values live in two shardings across a loop: another part of MeshProblem.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "meshwright/search/mesh_problem.h"

namespace meshwright {

MeshProblem::Memory MeshProblem::MemoryOf(
    absl::Span<const int32_t> chosen) const {
  std::vector<int64_t> used(static_cast<size_t>(model_.points), 0);
  for (size_t n = 0; n < problem_.nodes.size(); ++n) {
    for (const UsagePiece& piece : problem_.nodes[n].pieces) {
      for (int64_t t = piece.first; t < piece.last; ++t) {
        used[t] += piece.usage[chosen[n]];
      }
    }
  }
  for (const HeldValue& held : model_.held) {
    const ShardingId lies = ResultOf(held.value, chosen);
    if (lies == ResultOf(held.carried, chosen)) continue;
    const GroupValue& value = model_.values[held.value];
    const double bytes = LocalBytes(*value.shape, lies) /
                         (IsKept(value.group) ? task_.stages : 1);
    for (size_t t = 0; t < used.size(); ++t) {
      used[t] += static_cast<int64_t>(
          std::ceil(bytes * static_cast<double>(held.alive[t])));
    }
  }
  Memory memory;
  if (!used.empty()) memory.peak = *std::ranges::max_element(used);
  for (const UsageLimit& limit : problem_.limits) {
    for (int64_t t = limit.first; t < limit.last; ++t) {
      memory.fits = memory.fits && static_cast<double>(used[t]) <=
                                       task_.policy.about_fits *
                                           static_cast<double>(limit.limit);
    }
  }
  return memory;
}

bool MeshProblem::CarriesLess(const HeldValue& held, const Option& of,
                              const Option& by) const {
  const GroupValue& value = model_.values[held.value];
  const GroupValue& carried = model_.values[held.carried];
  return LocalBytes(*value.shape, by.results[carried.result]) <
         LocalBytes(*value.shape, of.results[value.result]);
}

std::vector<int32_t> MeshProblem::CarryAll(absl::Span<const int32_t> chosen) {
  std::vector<int32_t> start(chosen.begin(), chosen.end());
  for (const HeldValue& held : model_.held) {
    const GroupId of = model_.values[held.value].group;
    const GroupId by = model_.values[held.carried].group;
    if (of == by) continue;  // A single choice for both.
    CostTable table{.rows = static_cast<int32_t>(options_[of].size()),
                    .columns = static_cast<int32_t>(options_[by].size())};
    for (const Option& row : options_[of]) {
      for (const Option& column : options_[by]) {
        table.cells.push_back(CarriesLess(held, row, column) ? kInfiniteCost
                                                             : 0);
      }
    }
    problem_.edges.push_back({of, by, problem_.AddTable(std::move(table))});
    if (!CarriesLess(held, options_[of][start[of]], options_[by][start[by]])) {
      continue;
    }
    const ShardingId lies = ResultOf(held.value, start);
    const std::vector<ShardingId> forms = Results(held.carried);
    const auto same = std::ranges::find(forms, lies);
    if (same == forms.end()) continue;
    start[by] = static_cast<int32_t>(same - forms.begin());
    if (const int32_t copy = copy_of_[held.carried]; copy >= 0) {
      start[copy] = AsMade(copies_.at(copy), start);
    }
  }
  return start;
}

}  // namespace meshwright
