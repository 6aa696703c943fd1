#include "meshwright/solve/selection.h"

#include <algorithm>

#include "meshwright/base/check.h"

namespace meshwright {

Selection::Selection(const Core& core) : core_(&core) {
  choice_.assign(core.nodes, 0);
  usage_.assign(core.capacity.size(), 0);
  for (int32_t v = 0; v < core.nodes; ++v) {
    cost_ += core.costs[core.first_option[v]];
    for (const CoreLink& link : core.Links(v)) {
      if (link.other > v) cost_ += core.Row(link, 0)[0];
    }
    for (const CorePiece& piece : core.Pieces(v)) {
      for (int32_t p = piece.first; p < piece.last; ++p) {
        usage_[p] += core.usage[piece.usage];
      }
    }
  }
  for (int32_t p = 0; p < core.points(); ++p) {
    broken_points_ += usage_[p] > core.capacity[p];
  }
}

int64_t Selection::CostOf(int32_t v, int32_t option) const {
  const int32_t now = choice_[v];
  const int64_t* const costs = &core_->costs[core_->first_option[v]];
  int64_t delta = costs[option] - costs[now];
  for (const CoreLink& link : core_->Links(v)) {
    const int32_t x = choice_[link.other];
    delta += core_->Row(link, option)[x] - core_->Row(link, now)[x];
  }
  return delta;
}

bool Selection::Fits(int32_t v, int32_t option) const {
  const int32_t now = choice_[v];
  for (const CorePiece& piece : core_->Pieces(v)) {
    const int64_t more =
        core_->usage[piece.usage + option] - core_->usage[piece.usage + now];
    if (more <= 0) continue;
    for (int32_t p = piece.first; p < piece.last; ++p) {
      if (usage_[p] + more > core_->capacity[p]) return false;
    }
  }
  return true;
}

void Selection::Set(int32_t v, int32_t option) {
  const int32_t now = choice_[v];
  if (option == now) return;
  cost_ += CostOf(v, option);
  for (const CorePiece& piece : core_->Pieces(v)) {
    const int64_t more =
        core_->usage[piece.usage + option] - core_->usage[piece.usage + now];
    if (more == 0) continue;
    for (int32_t p = piece.first; p < piece.last; ++p) {
      const int64_t capacity = core_->capacity[p];
      broken_points_ -= usage_[p] > capacity;
      usage_[p] += more;
      broken_points_ += usage_[p] > capacity;
    }
  }
  choice_[v] = option;
}

void Selection::Assign(absl::Span<const int32_t> choice) {
  for (int32_t v = 0; v < core_->nodes; ++v) Set(v, choice[v]);
}

int64_t Polish(const Core& core, absl::Span<const int32_t> nodes,
               Selection& selection) {
  int64_t work = 0;
  std::vector<int64_t> sums;
  // A few rounds: later ones rarely find more.
  for (int round = 0; round < 4; ++round) {
    bool moved = false;
    for (const int32_t v : nodes) {
      const int32_t options = core.options(v);
      const auto first = core.costs.begin() + core.first_option[v];
      sums.assign(first, first + options);
      for (const CoreLink& link : core.Links(v)) {
        const CoreLink& back = core.links[link.reverse];
        const int64_t* const row = core.Row(back, selection[link.other]);
        for (int32_t a = 0; a < options; ++a) sums[a] += row[a];
      }
      work += options * (1 + std::ssize(core.Links(v)));
      while (true) {
        const auto best = std::ranges::min_element(sums);
        if (*best >= sums[selection[v]]) break;
        const auto option = static_cast<int32_t>(best - sums.begin());
        if (selection.Fits(v, option)) {
          selection.Set(v, option);
          moved = true;
          break;
        }
        *best = INT64_MAX;
      }
    }
    if (!moved) break;
  }
  return work;
}

}  // namespace meshwright
