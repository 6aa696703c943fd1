#include "meshwright/pipeline_search/stage_moves.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace meshwright {
namespace {

// Bytes are whole; sums of fractions of them are off by less.
constexpr double kByteRounding = 1e-6;

// The merges, replayed on the nodes of the base.
class Replay {
 public:
  Replay(const StageClusters& base, const StageClusters& clusters)
      : graph(base.graph),
        home(graph.nodes.size()),
        moved(graph.nodes.size()),
        joined(graph.nodes.size()),
        group_(graph.nodes.size()),
        members_(graph.nodes.size()),
        values_of_(graph.nodes.size()) {
    for (size_t node = 0; node < base.cluster_of.size(); ++node) {
      home[base.cluster_of[node]] = clusters.cluster_of[node];
    }
    for (int32_t node = 0; node < graph.size(); ++node) {
      group_[node] = node;
      members_[node] = {node};
    }
    for (int32_t id = 0; id < std::ssize(graph.values); ++id) {
      const StageGraph::Value& value = graph.values[id];
      if (value.producer != kNoProducer) {
        values_of_[value.producer].push_back(id);
      }
      for (const int32_t consumer : value.consumers) {
        values_of_[consumer].push_back(id);
      }
    }
    for (size_t i = base.merges.size(); i < clusters.merges.size(); ++i) {
      merges.push_back({base.cluster_of[clusters.merges[i].moved],
                        base.cluster_of[clusters.merges[i].into]});
    }
    FindLeaders();
    for (int32_t node = 0; node < graph.size(); ++node) {
      group_[node] = node;
      members_[node] = {node};
      joined[node] = false;
    }
  }

  const std::vector<int32_t>& MovedBy(const StageMerge& merge) const {
    return members_[group_[merge.moved]];
  }
  // Values that nodes of the moved group make or read, each once.
  std::vector<int32_t> ValuesOf(const StageMerge& merge) const {
    std::vector<int32_t> values;
    for (const int32_t node : MovedBy(merge)) {
      values.insert(values.end(), values_of_[node].begin(),
                    values_of_[node].end());
    }
    std::ranges::sort(values);
    const auto rest = std::ranges::unique(values);
    values.erase(rest.begin(), rest.end());
    return values;
  }
  bool InMoved(const StageMerge& merge, int32_t node) const {
    return group_[node] == group_[merge.moved];
  }
  bool InInto(const StageMerge& merge, int32_t node) const {
    return group_[node] == group_[merge.into];
  }
  bool IntoHasUnmoved(const StageMerge& merge) const {
    return std::ranges::any_of(members_[group_[merge.into]],
                               [&](int32_t node) { return !moved[node]; });
  }

  // Whether other clusters than its producer's read it.
  bool LeavesHome(const StageGraph::Value& value) const {
    return std::ranges::any_of(value.consumers, [&](int32_t consumer) {
      return home[consumer] != home[value.producer];
    });
  }

  void Join(const StageMerge& merge) {
    const int32_t from = group_[merge.moved];
    const int32_t to = group_[merge.into];
    for (const int32_t node : members_[from]) {
      group_[node] = to;
      joined[node] = true;
      members_[to].push_back(node);
    }
    members_[from].clear();
  }

  const StageGraph& graph;
  std::vector<StageMerge> merges;  // By base nodes.
  std::vector<int32_t> home;       // By base node: its cluster.
  std::vector<bool> moved;         // By base node.
  std::vector<bool> joined;        // Likewise: by merges so far.
  // By value and consumer: shares what is saved when all that read the value on
  // their stage are elsewhere. One in each cluster does.
  std::vector<std::vector<bool>> leads;

 private:
  // Bytes that only `into` reads of the moved group.
  int64_t HandedOver(const StageMerge& merge) const {
    int64_t bytes = 0;
    for (const int32_t id : ValuesOf(merge)) {
      const StageGraph::Value& value = graph.values[id];
      if (value.producer == kNoProducer || !InMoved(merge, value.producer)) {
        continue;
      }
      if (std::ranges::any_of(value.consumers, [&](int32_t consumer) {
            return InInto(merge, consumer);
          })) {
        bytes += value.bytes;
      }
    }
    return bytes;
  }

  // Of each cluster those that hand over enough, wherever they joined, to pay
  // for what they read; else the one that hands over most.
  void FindLeaders() {
    std::vector<int64_t> carries(graph.nodes.size(), INT64_MAX);
    for (const StageMerge& merge : merges) {
      const int64_t handed_over = HandedOver(merge);
      for (const int32_t node : MovedBy(merge)) {
        carries[node] = std::min(carries[node], handed_over);
        moved[node] = true;  // For good.
      }
      Join(merge);
    }
    for (const StageGraph::Value& value : graph.values) {
      std::vector<bool>& leading = leads.emplace_back();
      for (const int32_t consumer : value.consumers) {
        int64_t most = 0;
        for (const int32_t other : value.consumers) {
          if (home[other] == home[consumer]) {
            most = std::max(most, carries[other]);
          }
        }
        leading.push_back(carries[consumer] >= std::min(most, value.bytes));
      }
    }
  }

  std::vector<int32_t> group_;  // By base node: who stands for its group.
  std::vector<std::vector<int32_t>> members_;
  std::vector<std::vector<int32_t>> values_of_;
};

// Consumers of a value, by where they are when two groups join.
struct Readers {
  // That lead.
  int32_t moved = 0;
  int32_t into = 0;
  // Whether there are others.
  bool elsewhere = false;
  bool outside = false;  // Of the moved group.
  // Whether there are some that no merge before could have moved.
  bool fresh_moved = false;
  bool fresh_into = false;
};

Readers ReadersOf(const Replay& replay, const StageMerge& merge, int32_t id) {
  Readers readers;
  const StageGraph::Value& value = replay.graph.values[id];
  for (size_t i = 0; i < value.consumers.size(); ++i) {
    const int32_t consumer = value.consumers[i];
    const int32_t count = replay.leads[id][i] ? 1 : 0;
    const bool fresh = !replay.joined[consumer];
    if (replay.InMoved(merge, consumer)) {
      readers.moved += count;
      readers.fresh_moved |= fresh;
      continue;
    }
    readers.outside = true;
    if (replay.InInto(merge, consumer)) {
      readers.into += count;
      readers.fresh_into |= fresh;
    } else {
      readers.elsewhere = true;
    }
  }
  return readers;
}

}  // namespace

StageMoves::StageMoves(const StageClusters& base, const StageClusters& clusters)
    : work_(clusters.graph.nodes.size()),
      unmoved_(clusters.graph.nodes.size()),
      parts_(clusters.graph.nodes.size()) {
  Replay replay(base, clusters);
  const StageGraph& graph = base.graph;
  for (int32_t node = 0; node < graph.size(); ++node) {
    work_[replay.home[node]] += base.unmoved_work[node];
    if (!replay.moved[node]) unmoved_[replay.home[node]] = node;
  }
  for (int32_t id = 0; id < std::ssize(graph.values); ++id) {
    const StageGraph::Value& value = graph.values[id];
    Value known{.bytes = static_cast<double>(value.bytes)};
    if (value.producer != kNoProducer && !replay.moved[value.producer]) {
      known.producer = replay.home[value.producer];
    }
    for (size_t i = 0; i < value.consumers.size(); ++i) {
      const int32_t consumer = value.consumers[i];
      const int32_t cluster = replay.home[consumer];
      if (!replay.moved[consumer]) {
        known.unmoved.push_back(cluster);
        continue;
      }
      if (!replay.leads[id][i]) continue;
      const auto same = std::ranges::find(known.moved, cluster, &Read::value);
      if (same == known.moved.end()) {
        known.moved.push_back({cluster, 1});
      } else {
        ++same->readers;
      }
    }
    values_.push_back(std::move(known));
  }
  for (const StageMerge& merge : replay.merges) {
    Part part{.last = replay.IntoHasUnmoved(merge)};
    for (const int32_t node : replay.MovedBy(merge)) {
      part.work += base.unmoved_work[node];
    }
    const int32_t home = replay.home[merge.moved];
    double worst = 0;  // Bytes that reads may save.
    for (const int32_t id : replay.ValuesOf(merge)) {
      const StageGraph::Value& value = graph.values[id];
      const auto bytes = static_cast<double>(value.bytes);
      const Readers readers = ReadersOf(replay, merge, id);
      const bool made = value.producer != kNoProducer;
      const int32_t leaders = std::max(1, readers.moved + readers.into);
      if (made && replay.InMoved(merge, value.producer)) {
        if (!readers.outside) continue;
        // What `into` alone reads crosses. Of what others read, the part may
        // be beside them where it is.
        if (readers.elsewhere) {
          part.gain -= bytes;
        } else {
          part.gain +=
              readers.fresh_into ? bytes : bytes * readers.into / leaders;
        }
        continue;
      }
      if (made && replay.InInto(merge, value.producer)) {
        if (readers.elsewhere) continue;
        part.gain +=
            readers.fresh_moved ? bytes : bytes * readers.moved / leaders;
        continue;
      }
      if (readers.moved == 0 || (!made && !readers.outside)) continue;
      // Where it is made on the same stage, and stays a value of the clusters,
      // it is the maker's move that costs.
      if (made && replay.home[value.producer] == home &&
          replay.LeavesHome(value)) {
        continue;
      }
      const Value& known = values_[id];
      if (std::ranges::find(known.unmoved, home) != known.unmoved.end()) {
        continue;
      }
      part.reads.push_back({id, readers.moved});
      for (const Read& read : known.moved) {
        if (read.value == home) {
          worst += bytes * readers.moved / read.readers;
        }
      }
    }
    const double price = part.gain - worst;  // At least.
    least_ += static_cast<int64_t>(std::floor(std::min(0.0, price)));
    if (part.work > 0 || price < 0) parts_[home].push_back(std::move(part));
    replay.Join(merge);
  }
}

// What one reader, in a stage, saves of a value by not being there.
double StageMoves::SharedBytes(const Value& value, const NodeSet& from,
                               const NodeSet& to) const {
  const auto here = [&](int32_t cluster) {
    return to.Has(cluster) && !from.Has(cluster);
  };
  if (std::ranges::any_of(value.unmoved, here)) return 0;
  int32_t readers = 0;
  for (const Read& read : value.moved) {
    if (here(read.value)) readers += read.readers;
  }
  return value.bytes / std::max(1, readers);
}

std::optional<int64_t> StageMoves::Least(const NodeSet& from, const NodeSet& to,
                                         double excess) const {
  struct Priced {
    double work = 0;
    double price = 0;
  };
  if (excess <= 0 && least_ == 0) return 0;
  double bytes = 0;
  std::vector<Priced> parts;
  for (int32_t cluster = 0; cluster < std::ssize(parts_); ++cluster) {
    if (!to.Has(cluster) || from.Has(cluster)) continue;
    for (const Part& part : parts_[cluster]) {
      double price = part.gain;
      for (const Read& read : part.reads) {
        const Value& value = values_[read.value];
        const int32_t producer = value.producer;
        if (part.last && producer >= 0 && to.Has(producer) &&
            !from.Has(producer)) {
          continue;
        }
        price -= read.readers * SharedBytes(value, from, to);
      }
      if (price <= 0) {
        bytes += price;
        excess -= part.work;
      } else if (part.work > 0) {
        parts.push_back({part.work, price});
      }
    }
  }
  // The cheapest work goes first; of the last part that is needed, a fraction.
  std::ranges::sort(parts, [](const Priced& a, const Priced& b) {
    return a.price * b.work < b.price * a.work;
  });
  for (const Priced& part : parts) {
    if (excess <= 0) break;
    bytes += part.price * std::min(1.0, excess / part.work);
    excess -= part.work;
  }
  if (excess > 0) return std::nullopt;
  return static_cast<int64_t>(std::floor(bytes + kByteRounding));
}

}  // namespace meshwright
