// Bounds on the cost of moving parts of a cluster to another stage than the
// cluster's.
//
// An assignment of nodes, and the assignment of clusters that leaves every
// unmoved node on its stage (stage_clusters.h), differ in the parts that are
// elsewhere. The results of each such part must be sent; in turn, what it reads
// need not be sent to the cluster's stage if all its readers there are
// elsewhere, too. So a stage whose clusters exceed its work bound costs more
// than the clusters alone show:
//
//   h -> k1 -> a, h -> k2 -> a     k1, k2 joined a; h is on an earlier stage.
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
  // For the merges that led from `base` to `clusters`.
  StageMoves(const StageClusters& base, const StageClusters& clusters);

  // By cluster: the work of those of its nodes that are unmoved in `base`.
  const std::vector<double>& work() const { return work_; }

  // By cluster: the node of `base` that was not moved.
  const std::vector<int32_t>& unmoved() const { return unmoved_; }

  // For a stage with the clusters of `to` that are not in `from`, whose work
  // exceeds its bound by `excess`: a lower bound on the additional bytes that
  // are cut because parts of them must be elsewhere; negative if they may be
  // cheaper there. nullopt: the work exceeds the bound even without all parts.
  std::optional<int64_t> Least(const NodeSet& from, const NodeSet& to,
                               double excess) const;

  // A lower bound on the sum of Least() over all stages.
  int64_t least() const { return least_; }

 private:
  // How many base nodes of a part read a value.
  struct Read {
    int32_t value = 0;  // Index into values_.
    int32_t readers = 0;
  };
  // What joined a cluster in one merge.
  struct Part {
    double work = 0;
    double gain = 0;    // Bytes that cross if it is elsewhere.
    bool last = false;  // It joined the unmoved node of the cluster.
    std::vector<Read> reads;
  };
  struct Value {
    double bytes = 0;
    int32_t producer = -1;  // The cluster whose unmoved node produces it.
    std::vector<int32_t> unmoved;  // Clusters whose unmoved node reads it.
    std::vector<Read> moved;       // Other readers; `value` is the cluster.
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
