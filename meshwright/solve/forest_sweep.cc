#include "meshwright/solve/forest_sweep.h"

#include <algorithm>

#include "meshwright/solve/min_plus.h"

namespace meshwright {

ForestSweep::ForestSweep(const Core& core) : core_(core) {
  union_.resize(core.nodes);
  mark_.assign(core.nodes, 0);
  visited_.assign(core.nodes, 0);
  seen_.assign(core.nodes, 0);
  parent_link_.resize(core.nodes);
  sum_.resize(core.costs.size());
  int32_t widest = 1;
  for (int32_t v = 0; v < core.nodes; ++v) {
    widest = std::max(widest, core.options(v));
  }
  message_.resize(widest);
}

int32_t ForestSweep::Root(int32_t v) {
  while (union_[v] != v) v = union_[v] = union_[union_[v]];
  return v;
}

// Whether two neighbours of v are in one tree; roots_ are those of all trees
// adjacent to v.
bool ForestSweep::ClosesCycle(int32_t v) {
  roots_.clear();
  ++look_;
  for (const CoreLink& link : core_.Links(v)) {
    if (mark_[link.other] != stamp_) continue;
    const int32_t root = Root(link.other);
    if (seen_[root] == look_) return true;
    seen_[root] = look_;
    roots_.push_back(root);
  }
  return false;
}

// Visits the nodes in random order and adds each one that closes no cycle.
void ForestSweep::PickForest(absl::Span<const int32_t> nodes, Random& random) {
  ++stamp_;
  shuffled_.assign(nodes.begin(), nodes.end());
  const auto count = static_cast<int32_t>(nodes.size());
  for (int32_t i = count - 1; i > 0; --i) {
    std::swap(shuffled_[i], shuffled_[random.Below(i + 1)]);
  }
  size_t kept = 0;
  for (const int32_t v : shuffled_) {
    if (ClosesCycle(v)) continue;
    union_[v] = v;
    for (const int32_t root : roots_) union_[root] = v;
    mark_[v] = stamp_;
    shuffled_[kept++] = v;
  }
  shuffled_.resize(kept);
}

void ForestSweep::OrderTree(int32_t root) {
  visited_[root] = stamp_;
  parent_link_[root] = -1;
  size_t next = order_.size();
  order_.push_back(root);
  while (next < order_.size()) {
    const int32_t v = order_[next++];
    for (const CoreLink& link : core_.Links(v)) {
      const int32_t w = link.other;
      if (mark_[w] != stamp_ || visited_[w] == stamp_) continue;
      visited_[w] = stamp_;
      parent_link_[w] = link.reverse;
      order_.push_back(w);
    }
  }
}

// The costs of v's options, given the choices of the nodes outside the forest.
void ForestSweep::Gather(int32_t v, const std::vector<double>& unary,
                         const std::vector<int32_t>& choice) {
  const int32_t options = core_.options(v);
  double* const sum = &sum_[core_.first_option[v]];
  std::copy_n(&unary[core_.first_option[v]], options, sum);
  for (const CoreLink& link : core_.Links(v)) {
    if (mark_[link.other] == stamp_) continue;
    const CoreLink& back = core_.links[link.reverse];
    AddTo(core_.DoubleRow(back, choice[link.other]), options, sum);
    work_ += options;
  }
}

int64_t ForestSweep::Run(absl::Span<const int32_t> nodes,
                         const std::vector<double>& unary, Random& random,
                         std::vector<int32_t>& choice) {
  work_ = 0;
  PickForest(nodes, random);
  order_.clear();
  for (const int32_t v : shuffled_) {
    Gather(v, unary, choice);
    if (visited_[v] != stamp_) OrderTree(v);
  }
  for (auto v = order_.rbegin(); v != order_.rend(); ++v) {
    if (parent_link_[*v] < 0) continue;
    const CoreLink& up = core_.links[parent_link_[*v]];
    const int32_t columns = core_.options(up.other);
    MinPlus(&sum_[core_.first_option[*v]], core_.DoubleRow(up, 0),
            core_.options(*v), columns, message_.data());
    AddTo(message_.data(), columns, &sum_[core_.first_option[up.other]]);
    work_ += int64_t{columns} * core_.options(*v);
  }
  for (const int32_t v : order_) {
    const double* const sum = &sum_[core_.first_option[v]];
    const int32_t options = core_.options(v);
    if (parent_link_[v] < 0) {
      choice[v] =
          static_cast<int32_t>(std::min_element(sum, sum + options) - sum);
      continue;
    }
    const CoreLink& up = core_.links[parent_link_[v]];
    const CoreLink& down = core_.links[up.reverse];
    choice[v] =
        ArgMinSum(sum, core_.DoubleRow(down, choice[up.other]), options);
  }
  return work_;
}

void ForestSweep::Ball(int32_t start, int32_t size, Random& random,
                       std::vector<int32_t>& ball) {
  ++stamp_;
  ball.assign({start});
  visited_[start] = stamp_;
  for (size_t next = 0; next < ball.size(); ++next) {
    const absl::Span<const CoreLink> links = core_.Links(ball[next]);
    const auto count = static_cast<int32_t>(links.size());
    const int32_t turn = count > 0 ? random.Below(count) : 0;
    for (int32_t i = 0; i < count; ++i) {
      if (std::ssize(ball) >= size) return;
      const int32_t w = links[(i + turn) % count].other;
      if (visited_[w] == stamp_) continue;
      visited_[w] = stamp_;
      ball.push_back(w);
    }
  }
}

}  // namespace meshwright
