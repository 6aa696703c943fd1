// A stage graph with nodes put together that lie best on one stage.
//
// Two kinds of merges keep the graph acyclic and, for any assignment, do not
// raise its cut bytes by more than is told:
//
//   up -> c    `up` is used by nothing but c. It joins c: what it made need not
//              cross any more, what it reads and c does not may have to.
//   p -> down  `down` reads of nothing but p. It joins p: what only it read
//              need not cross, what it makes may have to.
//
// The one that joins the other is *moved*. Where moved nodes are light, an
// assignment of the clusters is as good as any, but for balance by what is
// moved.
#ifndef MESHWRIGHT_PIPELINE_SEARCH_STAGE_CLUSTERS_H_
#define MESHWRIGHT_PIPELINE_SEARCH_STAGE_CLUSTERS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/pipeline_search/stage_graph.h"

namespace meshwright {

// A cluster joined another: a node of each, of the graph that was merged first.
struct StageMerge {
  int32_t moved = 0;
  int32_t into = 0;
};

struct StageClusters {
  // In an order in which they can run; values within a cluster are gone.
  StageGraph graph;
  std::vector<int32_t> cluster_of;  // By node.
  // By cluster: the work of its nodes that were not moved.
  std::vector<double> unmoved_work;
  // Of any assignment of nodes there is one of clusters that cuts at most this
  // many bytes more and has every unmoved node where it was.
  int64_t slack = 0;
  // One after the other, since MergeGroups.
  std::vector<StageMerge> merges;
};

struct ClusterOptions {
  double moved_work = 0;    // A moved cluster has no more than this,
  int64_t added_bytes = 0;  // and may add this much to the cut.
};

// Groups become one cluster, with all between their nodes. kInvalidArgument,
// naming nodes, for groups and fixed stages that contradict each other.
absl::StatusOr<StageClusters> MergeGroups(const StageGraph& graph);

// `clusters` merged further.
StageClusters MergeLight(const StageClusters& clusters,
                         const ClusterOptions& options);

}  // namespace meshwright

#endif  // MESHWRIGHT_PIPELINE_SEARCH_STAGE_CLUSTERS_H_
