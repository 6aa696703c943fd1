// What it costs that a part of a cluster is on another stage than the cluster.
//
// An assignment of nodes and the one of clusters that has every unmoved node
// where it was (stage_clusters.h) differ in the parts that are elsewhere. Each
// such part makes what it hands over cross; in turn, what it reads need not
// reach the cluster's stage, provided that all that read it there are
// elsewhere. So a stage whose clusters have more work than it may have costs
// more than the clusters alone tell:
//
//   h -> k1 -> a, h -> k2 -> a     k1, k2 joined a, h is on an earlier stage.
//   With k1 elsewhere: k1's result crosses, h still does for k2.
//   With both: both results cross, h does not.
#ifndef MESHWRIGHT_PIPELINE_SEARCH_STAGE_MOVES_H_
#define MESHWRIGHT_PIPELINE_SEARCH_STAGE_MOVES_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "meshwright/pipeline_search/down_sets.h"
#include "meshwright/pipeline_search/stage_clusters.h"

namespace meshwright {

class StageMoves {
 public:
  // Of the merges that led from `base` to `clusters`.
  StageMoves(const StageClusters& base, const StageClusters& clusters);

  // By cluster: the work of those of its nodes that `base` has not moved.
  const std::vector<double>& work() const { return work_; }

  // By cluster: the node of `base` that stayed where it was.
  const std::vector<int32_t>& unmoved() const { return unmoved_; }

  // A stage has the clusters of `to` that are not in `from`, with `excess` more
  // work than it may have. How many bytes more than these clusters tell are cut
  // at least, on account of parts of them; negative where elsewhere they might
  // be cheaper. None: not even without all parts it is little enough.
  std::optional<int64_t> Least(const NodeSet& from, const NodeSet& to,
                               double excess) const;

  // Least() of all stages together is no less than this.
  int64_t least() const { return least_; }

 private:
  // That some base nodes of a part read a value.
  struct Read {
    int32_t value = 0;  // Of values_.
    int32_t readers = 0;
  };
  // What joined a cluster, at once.
  struct Part {
    double work = 0;
    double gain = 0;    // Bytes that cross if it is elsewhere.
    bool last = false;  // It joined what is unmoved in the cluster.
    std::vector<Read> reads;
  };
  struct Value {
    double bytes = 0;
    int32_t producer = -1;         // Its cluster, if it is unmoved there.
    std::vector<int32_t> unmoved;  // Clusters that read it, unmoved.
    std::vector<Read> moved;       // Others; `value` is the cluster.
  };

  double SharedBytes(const Value& value, const NodeSet& from,
                     const NodeSet& to) const;

  std::vector<double> work_;
  std::vector<int32_t> unmoved_;
  std::vector<std::vector<Part>> parts_;  // By cluster.
  std::vector<Value> values_;
  int64_t least_ = 0;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_PIPELINE_SEARCH_STAGE_MOVES_H_
