#include "meshwright/pipeline_search/refine_stages.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "meshwright/solve/min_cut.h"

namespace meshwright {
namespace {

class Refiner {
 public:
  Refiner(const StageGraph& graph, const StageLimits& limits,
          std::vector<double> bounds, std::vector<StageId> stages,
          const StagePolicy& policy)
      : graph_(graph),
        limits_(limits),
        policy_(policy),
        bounds_(std::move(bounds)),
        stages_(std::move(stages)),
        values_of_(graph.nodes.size()),
        work_(limits.stages()),
        held_(limits.stages()),
        count_(limits.stages()) {
    for (int32_t id = 0; id < std::ssize(graph.values); ++id) {
      const StageGraph::Value& value = graph.values[id];
      all_bytes_ += value.bytes;
      if (value.producer != kNoProducer) {
        values_of_[value.producer].push_back(id);
      }
      for (const int32_t consumer : value.consumers) {
        values_of_[consumer].push_back(id);
      }
    }
    for (int32_t node = 0; node < graph.size(); ++node) {
      Count(node, stages_[node], 1);
    }
    for (StageId stage{0}; stage < limits.stages(); ++stage) {
      bounds_[stage] = std::max(bounds_[stage], work_[stage]) * (1 + 1e-12);
    }
    shares_ = limits.SharesOf(graph.TotalWork());
    least_ = limits.LeastOf(graph.TotalWork());
  }

  std::vector<StageId> Run(int64_t bytes_bound) {
    for (int round = 0; round < policy_.refine_rounds; ++round) {
      bool changed = false;
      const bool is_best =
          CostOf(graph_, limits_, stages_).cut_bytes <= bytes_bound;
      for (StageId stage; !is_best && stage + 1 < limits_.stages(); ++stage) {
        changed |= CutPair(stage);
      }
      for (int32_t node = 0; node < graph_.size(); ++node) {
        changed |= MoveNode(node);
      }
      if (!changed) break;
    }
    return stages_;
  }

 private:
  void Count(int32_t node, StageId stage, int sign) {
    work_[stage] += sign * graph_.nodes[node].work;
    held_[stage] += sign * graph_.nodes[node].held;
    count_[stage] += sign;
  }

  // Bytes that a value makes cross.
  int64_t BytesOf(const StageGraph::Value& value) const {
    reached_.clear();
    if (value.producer != kNoProducer) {
      reached_.push_back(stages_[value.producer]);
    }
    for (const int32_t consumer : value.consumers) {
      if (std::ranges::find(reached_, stages_[consumer]) == reached_.end()) {
        reached_.push_back(stages_[consumer]);
      }
    }
    return value.bytes * (std::ssize(reached_) - 1);
  }

  int64_t BytesAt(int32_t node) const {
    int64_t bytes = 0;
    for (const int32_t id : values_of_[node]) {
      bytes += BytesOf(graph_.values[id]);
    }
    return bytes;
  }

  bool Fits(StageId stage) const {
    return count_[stage] > 0 && work_[stage] <= bounds_[stage] &&
           work_[stage] >= least_[stage] &&
           (limits_.memory.empty() || held_[stage] <= limits_.memory[stage]);
  }

  double Load(StageId stage) const {
    return shares_[stage] > 0 ? work_[stage] / shares_[stage] : 0;
  }

  // To a stage next to its own, where that saves bytes, or costs none and
  // balances the two.
  bool MoveNode(int32_t node) {
    if (graph_.nodes[node].fixed != kAnyStage) return false;
    const StageId from = stages_[node];
    StageId earliest{0};
    StageId latest(limits_.stages() - 1);
    for (const int32_t id : values_of_[node]) {
      const StageGraph::Value& value = graph_.values[id];
      if (value.producer == node) {
        for (const int32_t consumer : value.consumers) {
          latest = std::min(latest, stages_[consumer]);
        }
      } else if (value.producer != kNoProducer) {
        earliest = std::max(earliest, stages_[value.producer]);
      }
    }
    for (const StageId to : {from - 1, from + 1}) {
      if (to < earliest || to > latest) continue;
      const int64_t bytes = BytesAt(node);
      const double load = std::max(Load(from), Load(to));
      Move(node, to);
      const int64_t change = BytesAt(node) - bytes;
      const bool better =
          change < 0 ||
          (change == 0 && std::max(Load(from), Load(to)) < load * (1 - 1e-9));
      if (better && Fits(from) && Fits(to)) return true;
      Move(node, from);
    }
    return false;
  }

  void Move(int32_t node, StageId to) {
    Count(node, stages_[node], -1);
    stages_[node] = to;
    Count(node, to, 1);
  }

  // By node of `stage` and the next: stays with the first. `price` is what a
  // unit of work costs there.
  std::vector<bool> CheapestCut(StageId stage,
                                const std::vector<int32_t>& nodes,
                                const std::vector<int32_t>& values,
                                double price) {
    MinCut cut;
    for (const int32_t node : nodes) {
      place_[node] = cut.AddNode();
      const StageGraph::Node& at = graph_.nodes[node];
      if (at.fixed == stage) {
        cut.AddEdge(cut.source(), place_[node], MinCut::kNever);
      } else if (at.fixed == stage + 1) {
        cut.AddEdge(place_[node], cut.sink(), MinCut::kNever);
      }
      const auto cost = static_cast<int64_t>(std::abs(price) * at.work);
      if (cost == 0) continue;
      if (price > 0) {
        cut.AddEdge(place_[node], cut.sink(), cost);
      } else {
        cut.AddEdge(cut.source(), place_[node], cost);
      }
    }
    const auto inside = [&](int32_t node) {
      return stages_[node] == stage || stages_[node] == stage + 1;
    };
    for (const int32_t id : values) {
      const StageGraph::Value& value = graph_.values[id];
      const bool made_here =
          value.producer != kNoProducer && inside(value.producer);
      const int32_t later = cut.AddNode();  // With the source: none is later.
      const int32_t first = cut.AddNode();  // With the source: one is first.
      for (const int32_t consumer : value.consumers) {
        if (!inside(consumer)) continue;
        cut.AddEdge(later, place_[consumer], MinCut::kNever);
        cut.AddEdge(place_[consumer], first, MinCut::kNever);
        if (made_here) {
          cut.AddEdge(place_[consumer], place_[value.producer], MinCut::kNever);
        }
      }
      if (made_here) {
        cut.AddEdge(place_[value.producer], later, value.bytes);
      } else {
        cut.AddEdge(cut.source(), later, value.bytes);
        cut.AddEdge(first, cut.sink(), value.bytes);
      }
    }
    const std::vector<bool> with_source = cut.Solve();
    std::vector<bool> result;
    for (const int32_t node : nodes) {
      result.push_back(with_source[place_[node]]);
    }
    return result;
  }

  bool CutPair(StageId stage) {
    std::vector<int32_t> nodes;
    std::vector<int32_t> values;
    for (int32_t node = 0; node < graph_.size(); ++node) {
      if (stages_[node] != stage && stages_[node] != stage + 1) continue;
      nodes.push_back(node);
      values.insert(values.end(), values_of_[node].begin(),
                    values_of_[node].end());
    }
    std::ranges::sort(values);
    const auto rest = std::ranges::unique(values);
    values.erase(rest.begin(), rest.end());
    place_.resize(graph_.nodes.size());
    const auto bytes_here = [&] {
      int64_t bytes = 0;
      for (const int32_t id : values) bytes += BytesOf(graph_.values[id]);
      return bytes;
    };
    int64_t best_bytes = bytes_here();
    double best_load = std::max(Load(stage), Load(stage + 1));
    std::vector<StageId> best;
    for (const int32_t node : nodes) best.push_back(stages_[node]);
    bool changed = false;
    // Where the price is too low the first stage has too much work.
    const double work = work_[stage] + work_[stage + 1];
    if (work == 0) return false;
    double low = -static_cast<double>(all_bytes_) / work * 64;
    double high = -low;
    double price = 0;
    for (int step = 0; step < policy_.refine_prices; ++step) {
      const std::vector<bool> first = CheapestCut(stage, nodes, values, price);
      for (size_t i = 0; i < nodes.size(); ++i) {
        Move(nodes[i], first[i] ? stage : stage + 1);
      }
      const bool fits = Fits(stage) && Fits(stage + 1);
      const int64_t bytes = bytes_here();
      const double load = std::max(Load(stage), Load(stage + 1));
      const bool first_is_fuller = Load(stage) > Load(stage + 1);
      if (fits && std::tie(bytes, load) <
                      std::make_tuple(best_bytes, best_load * (1 - 1e-9))) {
        best_bytes = bytes;
        best_load = load;
        for (size_t i = 0; i < nodes.size(); ++i) best[i] = stages_[nodes[i]];
        changed = true;
      }
      if (fits && price == 0) break;
      (first_is_fuller ? low : high) = price;
      price = (low + high) / 2;
      if (high - low < 1e-6 * std::abs(high)) break;
    }
    for (size_t i = 0; i < nodes.size(); ++i) Move(nodes[i], best[i]);
    return changed;
  }

  const StageGraph& graph_;
  const StageLimits& limits_;
  const StagePolicy& policy_;
  std::vector<double> bounds_;
  std::vector<double> shares_;
  std::vector<double> least_;
  std::vector<StageId> stages_;
  std::vector<std::vector<int32_t>> values_of_;  // By node.
  // By stage.
  std::vector<double> work_;
  std::vector<int64_t> held_;
  std::vector<int64_t> count_;
  int64_t all_bytes_ = 0;
  std::vector<int32_t> place_;            // By node: in the cut.
  mutable std::vector<int32_t> reached_;  // Kept for its memory.
};

}  // namespace

std::vector<StageId> RefineStages(const StageGraph& graph,
                                  const StageLimits& limits,
                                  const std::vector<double>& bounds,
                                  std::vector<StageId> stages,
                                  int64_t bytes_bound,
                                  const StagePolicy& policy) {
  return Refiner(graph, limits, bounds, std::move(stages), policy)
      .Run(bytes_bound);
}

}  // namespace meshwright
