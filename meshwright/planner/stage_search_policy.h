// The search for pipelines (stage_search.h, stages_that_fit.h). A part of
// SearchPolicy.
#ifndef MESHWRIGHT_PLANNER_STAGE_SEARCH_POLICY_H_
#define MESHWRIGHT_PLANNER_STAGE_SEARCH_POLICY_H_

#include <cstddef>
#include <cstdint>

#include "meshwright/pipeline_search/stage_policy.h"

namespace meshwright {

struct StageSearchPolicy {
  int64_t most = 64;
  // Stage counts near this one are tried first.
  double usual = 6;
  // Stage counts tried concurrently; fixed, not the number of cores.
  size_t together = 2;
  // Micro-batches per stage, so that bubbles are small; and at most this
  // many.
  int64_t fewest_micro_batches = 4;
  int64_t most_micro_batches = 256;
  // Bubble share of the step time above which smaller micro-batches and,
  // unless the step is too large, two stages per rank are tried.
  double few_bubbles = 0.03;
  // Share that can be filled of the memory that all devices of a stage have
  // left: not everything can be sharded over all of them.
  double filled = 0.5;
  // How many stage counts are tried with less rematerialisation than the
  // non-pipelined plan has: the best with as much.
  size_t of_other_policies = 2;
  // And only if they may be fast enough: of forward and backward with full
  // rematerialisation, the share that is left without any.
  double without_recompute = 0.75;
  // The bubble that each further stage adds to a zero-bubble schedule,
  // relative to the work of a micro-batch on a stage, if all programs take
  // about as long. Weight gradients may fill it: F + I - W of F + I + W
  // remain. Rematerialisation makes I twice as long.
  double bubble_of_stage = 1.0 / 3;
  double bubble_with_recompute = 1.0 / 2;
  // How often work is moved between stages of unequal load.
  int most_moves = 2;
  // And from stages that do not fit into the memory of their devices to
  // others, if devices have different memory; until as much of it is used.
  int most_memory_moves = 4;
  double well_filled = 0.85;
  // A pipeline may take less time than estimated by at most this factor:
  // stages so unbalanced that it would not be enough are not searched.
  double overestimated = 1.5;
  // Further pipelines are lowered as long as they are estimated to take less
  // time than the best plan so far, and until this share of the remaining
  // time limit is over. The rest is for finishing the last one.
  double share_for_more = 0.6;
  // Cutting a step of more instructions into stages, counted once for every
  // piece of its loops, takes long: not where even stages of equal work would
  // be slower than the plan without stages. They wait at least this long for
  // others, relative to their work.
  int64_t many_instructions = 5000;
  // Nor where instructions, after loops are split, times stages are more.
  int64_t most_split = 1'000'000;
  double least_wait = 1.0 / 3;
  // Work of the schedule search: simulated actions.
  int64_t schedule_work = 1'000'000;
  // The same for schedules that are only estimates for comparison.
  int64_t estimate_work = 50'000;
  // The assignment to stages, with fewer down-sets than for stages asked for
  // by hand: it is searched many times.
  StagePolicy assign{.down_sets = 3000};
  // Memory limits within this factor of each other need none tried between
  // them.
  double close = 1.2;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_PLANNER_STAGE_SEARCH_POLICY_H_
