// Solves, with HiGHS, the part of a stage assignment that bounds leave
// undecided.
#ifndef MESHWRIGHT_PIPELINE_SEARCH_STAGE_CORE_H_
#define MESHWRIGHT_PIPELINE_SEARCH_STAGE_CORE_H_

#include <cstdint>
#include <vector>

#include "meshwright/pipeline_search/cut_down_sets.h"
#include "meshwright/pipeline_search/stage_clusters.h"
#include "meshwright/pipeline_search/stage_policy.h"

namespace meshwright {

struct StageCore {
  const StageClusters* clusters = nullptr;
  // By cluster: its stages in any assignment with fewer than `known` bytes.
  std::vector<StageRange> ranges;
  double balance = 0;  // The allowed balance.
  int64_t known = 0;   // The cut bytes of a known assignment.
  // By cluster: an assignment close to that one, as a warm start.
  std::vector<StageId> start;
};

struct StageCoreAnswer {
  // By cluster; empty if none with fewer than `known` bytes was found.
  std::vector<StageId> stages;
  // A lower bound on the bytes of any assignment of nodes; `known` if none cuts
  // fewer than that.
  int64_t bytes_bound = 0;
};

// What was found within a fixed amount of work. Empty and 0 for cores that are
// too large for that, and without HiGHS.
StageCoreAnswer SolveStageCore(const StageCore& core, const StageLimits& limits,
                               const StagePolicy& policy = {});

}  // namespace meshwright

#endif  // MESHWRIGHT_PIPELINE_SEARCH_STAGE_CORE_H_
