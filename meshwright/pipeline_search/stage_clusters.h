// A stage graph in which nodes that are best on the same stage are merged.
//
// Two kinds of merges keep the graph acyclic and do not increase the cut bytes
// of any assignment by more than a known amount:
//
//   up -> c    `up` is used by c only, and joins it: its result need not cross
//              any more, but what it reads and c does not may have to.
//   p -> down  `down` reads from p only, and joins it: what only it read need
//              not cross, but its results may have to.
//
// The node that joins another one is *moved*. As long as moved nodes are light,
// restricting assignments to clusters loses nothing but balance by the moved
// work.
#ifndef MESHWRIGHT_PIPELINE_SEARCH_STAGE_CLUSTERS_H_
#define MESHWRIGHT_PIPELINE_SEARCH_STAGE_CLUSTERS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/pipeline_search/stage_graph.h"

namespace meshwright {

// One cluster joined another. Each is given by one of its nodes in the original
// graph.
struct StageMerge {
  int32_t moved = 0;
  int32_t into = 0;
};

struct StageClusters {
  // Topologically ordered; values within a cluster are removed.
  StageGraph graph;
  std::vector<int32_t> cluster_of;  // By node.
  // By cluster: the work of its nodes that were not moved.
  std::vector<double> unmoved_work;
  // For any assignment of nodes there is one of clusters that cuts at most this
  // many bytes more and leaves every unmoved node on its stage.
  int64_t slack = 0;
  // In order, since MergeGroups.
  std::vector<StageMerge> merges;
};

struct ClusterOptions {
  double moved_work = 0;    // A moved cluster has at most this much work,
  int64_t added_bytes = 0;  // and adds at most this many bytes to the cut.
};

// Makes each group one cluster, with everything on paths between its nodes.
// kInvalidArgument, naming nodes, for groups and fixed stages that contradict
// each other.
absl::StatusOr<StageClusters> MergeGroups(const StageGraph& graph);

// `clusters` merged further.
StageClusters MergeLight(const StageClusters& clusters,
                         const ClusterOptions& options);

}  // namespace meshwright

#endif  // MESHWRIGHT_PIPELINE_SEARCH_STAGE_CLUSTERS_H_
