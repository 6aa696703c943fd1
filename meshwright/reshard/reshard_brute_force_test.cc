// The search against trying all sequences of moves on all axes.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "meshwright/mesh/sharding_text.h"
#include "meshwright/reshard/reshard.h"

namespace meshwright {
namespace {

// Splits of plain even dimensions, and pending axes.
struct State {
  std::vector<std::vector<AxisId>> dims;
  std::set<AxisId> pending;

  auto operator<=>(const State&) const = default;
};

State StateOf(const Sharding& sharding) {
  State state;
  for (const DimSharding& dim : sharding.dims) {
    state.dims.emplace_back(dim[0].axes.begin(), dim[0].axes.end());
  }
  state.pending = {sharding.pending.begin(), sharding.pending.end()};
  return state;
}

class BruteForce {
 public:
  BruteForce(const Mesh& mesh, std::vector<int64_t> dimensions,
             const Prices& prices, std::set<AxisId> axes)
      : mesh_(mesh),
        dimensions_(std::move(dimensions)),
        prices_(prices),
        axes_(std::move(axes)) {}

  double Price(const State& from, const State& to) {
    to_ = to;
    distances_ = {{from, 0}};
    std::set<std::pair<double, State>> open = {{0, from}};
    while (!open.empty()) {
      const auto [distance, state] = *open.begin();
      open.erase(open.begin());
      if (state == to) return distance;
      if (distance > distances_[state]) continue;
      neighbours_.clear();
      Expand(state);
      for (const auto& [next, price] : neighbours_) {
        const auto [entry, inserted] =
            distances_.try_emplace(next, distance + price);
        if (!inserted && entry->second <= distance + price) continue;
        entry->second = distance + price;
        open.emplace(distance + price, next);
      }
    }
    return -1;
  }

 private:
  int64_t Size(const std::vector<AxisId>& axes) const {
    return mesh_.Size(AxisList(axes.begin(), axes.end()));
  }
  double Bytes(const State& state) const {
    double bytes = 4;
    for (size_t i = 0; i < dimensions_.size(); ++i) {
      bytes *= static_cast<double>(dimensions_[i] / Size(state.dims[i]));
    }
    return bytes;
  }
  bool Fits(const State& state) const {
    for (size_t i = 0; i < dimensions_.size(); ++i) {
      if (dimensions_[i] % Size(state.dims[i]) != 0) return false;
    }
    return true;
  }
  void Add(const State& from, const State& to, MoveKind kind, int64_t size) {
    if (!Fits(to)) return;
    neighbours_.emplace_back(
        to, MovePrice(prices_, kind, 0, size, Bytes(from), Bytes(to)));
  }

  // All ordered choices out of `from`, the empty one aside.
  static std::vector<std::vector<AxisId>> Choices(std::set<AxisId> from) {
    std::vector<std::vector<AxisId>> all;
    for (const AxisId first : from) {
      all.push_back({first});
      std::set<AxisId> rest = from;
      rest.erase(first);
      for (std::vector<AxisId> more : Choices(rest)) {
        more.insert(more.begin(), first);
        all.push_back(std::move(more));
      }
    }
    return all;
  }

  void Put(const State& from, const State& without,
           const std::vector<AxisId>& axes, MoveKind kind, size_t not_to = 99) {
    for (size_t i = 0; i < dimensions_.size(); ++i) {
      if (i == not_to) continue;
      State next = without;
      next.dims[i].insert(next.dims[i].end(), axes.begin(), axes.end());
      Add(from, next, kind, Size(axes));
    }
  }

  bool EndsPending(const std::vector<AxisId>& axes) const {
    return std::all_of(axes.begin(), axes.end(), [&](AxisId axis) {
      return to_.pending.count(axis) > 0;
    });
  }

  std::set<AxisId> Idle(const State& state) const {
    std::set<AxisId> idle = axes_;
    for (const auto& dim : state.dims) {
      for (const AxisId axis : dim) idle.erase(axis);
    }
    for (const AxisId axis : state.pending) idle.erase(axis);
    return idle;
  }

  void Expand(const State& state) {
    for (const auto& axes : Choices(Idle(state))) {
      Put(state, state, axes, MoveKind::kSlice);
      if (!EndsPending(axes)) continue;
      State next = state;
      next.pending.insert(axes.begin(), axes.end());
      Add(state, next, MoveKind::kMakePending, Size(axes));
    }
    for (const auto& axes : Choices(state.pending)) {
      State next = state;
      for (const AxisId axis : axes) next.pending.erase(axis);
      Add(state, next, MoveKind::kAllReduce, Size(axes));
      Put(state, next, axes, MoveKind::kReduceScatter);
    }
    for (size_t i = 0; i < dimensions_.size(); ++i) {
      const auto& dim = state.dims[i];
      for (size_t first = 0; first < dim.size(); ++first) {
        State next = state;
        next.dims[i].resize(first);
        std::vector<AxisId> axes(dim.begin() + first, dim.end());
        Add(state, next, MoveKind::kAllGather, Size(axes));
        if (EndsPending(axes)) {
          State pending = next;
          pending.pending.insert(axes.begin(), axes.end());
          Add(state, pending, MoveKind::kMakePending, Size(axes));
        }
        std::sort(axes.begin(), axes.end());
        do {
          Put(state, next, axes, MoveKind::kAllToAll, i);
        } while (std::next_permutation(axes.begin(), axes.end()));
      }
    }
    State next;
    next.dims.resize(dimensions_.size());
    Permute(state, 0, axes_, next);
  }

  // All arrangements with the same tiles from dimension `dim` on.
  void Permute(const State& from, size_t dim, const std::set<AxisId>& left,
               State& next) {
    const bool last = dim == dimensions_.size();
    const int64_t tiles = last
                              ? Size({from.pending.begin(), from.pending.end()})
                              : Size(from.dims[dim]);
    std::vector<std::vector<AxisId>> choices = Choices(left);
    choices.emplace_back();
    for (const auto& axes : choices) {
      if (Size(axes) != tiles) continue;
      if (last) {
        next.pending = {axes.begin(), axes.end()};
        Add(from, next, MoveKind::kPermute, 1);
        continue;
      }
      next.dims[dim] = axes;
      std::set<AxisId> rest = left;
      for (const AxisId axis : axes) rest.erase(axis);
      Permute(from, dim + 1, rest, next);
    }
  }

  const Mesh& mesh_;
  const std::vector<int64_t> dimensions_;
  const Prices prices_;
  const std::set<AxisId> axes_;
  State to_;
  std::map<State, double> distances_;
  std::vector<std::pair<State, double>> neighbours_;
};

std::set<AxisId> Used(const State& a, const State& b) {
  std::set<AxisId> used;
  for (const State* state : {&a, &b}) {
    for (const auto& dim : state->dims) used.insert(dim.begin(), dim.end());
    used.insert(state->pending.begin(), state->pending.end());
  }
  return used;
}

// Any arrangement of some of the axes.
Sharding RandomState(const Mesh& mesh, const std::vector<int64_t>& dimensions,
                     bool pending, std::mt19937_64& random) {
  Sharding sharding = Sharding::Replicated(dimensions);
  AxisList axes = mesh.AllSubAxes();
  std::shuffle(axes.begin(), axes.end(), random);
  for (const AxisId axis : axes) {
    const size_t place = random() % (dimensions.size() + 2);
    if (place < dimensions.size()) {
      Part& part = sharding.dims[place][0];
      part.axes.push_back(axis);
      if (part.size % mesh.Size(part.axes) != 0) part.axes.pop_back();
    } else if (place == dimensions.size() && pending) {
      sharding.pending.push_back(axis);
    }
  }
  std::sort(sharding.pending.begin(), sharding.pending.end());
  return sharding;
}

// Plain tensors on few axes: the search leaves out idle axes, second permutes
// and splits of several slices, which seldom matter.
TEST(ReshardBruteForceTest, TheSearchFindsTheBestOrNearly) {
  const Prices kByteCosts = {.collective = {1e-9, 1e-9},
                             .per_local_byte = 1e-15};
  constexpr int kCount = 60;
  std::mt19937_64 random(7);
  for (const Prices& prices : {kByteCosts, Prices()}) {
    for (const char* text : {"a=2,b=2", "a=2,b=2,c=2", "x=3,y=2", "x=4,y=2"}) {
      const Mesh mesh = Mesh::Parse(text).value();
      for (const auto& dimensions :
           std::vector<std::vector<int64_t>>{{48}, {24, 48}, {96, 48, 240}}) {
        Resharder resharder(&mesh, prices);
        int best_count = 0;
        for (int i = 0; i < kCount; ++i) {
          const Sharding from =
              RandomState(mesh, dimensions, i % 3 == 0, random);
          const Sharding to = RandomState(mesh, dimensions, i % 5 == 0, random);
          const State a = StateOf(from);
          const State b = StateOf(to);
          const double price = resharder.Price(ElementType::kF32, from, to);
          const double best =
              BruteForce(mesh, dimensions, prices, Used(a, b)).Price(a, b);
          const std::string what =
              ToString(from, mesh) + " to " + ToString(to, mesh) + " by " +
              ToString(resharder.Path(ElementType::kF32, from, to), mesh);
          EXPECT_GE(price, best * (1 - 1e-9)) << what;
          EXPECT_LE(price, best * 1.35 + 1e-4 * prices.collective.latency)
              << what;
          EXPECT_LE(price, (1 + 1e-9) * resharder.PlainPrice(ElementType::kF32,
                                                             from, to));
          if (price <= best * 1.002) ++best_count;
        }
        EXPECT_GE(best_count, kCount - 6) << text << " " << dimensions.size();
      }
    }
  }
}

}  // namespace
}  // namespace meshwright
