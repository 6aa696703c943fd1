// Stages for what bounds leave open, by HiGHS.
#ifndef MESHWRIGHT_PIPELINE_SEARCH_STAGE_CORE_H_
#define MESHWRIGHT_PIPELINE_SEARCH_STAGE_CORE_H_

#include <cstdint>
#include <vector>

#include "meshwright/pipeline_search/cut_down_sets.h"
#include "meshwright/pipeline_search/stage_clusters.h"

namespace meshwright {

struct StageCore {
  const StageClusters* clusters = nullptr;
  // By cluster: where it is in any assignment that cuts less than `known`.
  std::vector<StageRange> ranges;
  double balance = 0;  // What is allowed.
  int64_t known = 0;   // Bytes that some assignment cuts.
  // By cluster: about that one.
  std::vector<int32_t> start;
};

struct StageCoreAnswer {
  // By cluster; empty where none was found that cuts less than `known`.
  std::vector<int32_t> stages;
  // No assignment of nodes cuts fewer; `known` where none cuts less than that.
  int64_t bytes_bound = 0;
};

// What was found within a fixed amount of work; nothing and 0 for cores that
// are too large for that, and without HiGHS.
StageCoreAnswer SolveStageCore(const StageCore& core,
                               const StageLimits& limits);

}  // namespace meshwright

#endif  // MESHWRIGHT_PIPELINE_SEARCH_STAGE_CORE_H_
