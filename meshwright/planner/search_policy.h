// How hard the planner searches and when it stops: every threshold of the
// driver, with its reason. They trade planning time for the chance of missing a
// better plan; none of them affects correctness.
//
//   const SearchPolicy policy;                // As users plan.
//   policy.EffortFor(12'000).kept             // 2: the step is large.
//   SearchPolicy{.small = kLargeStepEffort}   // Treats every step as large.
#ifndef MESHWRIGHT_PLANNER_SEARCH_POLICY_H_
#define MESHWRIGHT_PLANNER_SEARCH_POLICY_H_

#include <cstddef>
#include <cstdint>

#include "meshwright/pipeline_search/stage_policy.h"
#include "meshwright/planner/lean_policy.h"
#include "meshwright/planner/search_effort.h"
#include "meshwright/planner/short_run_policy.h"
#include "meshwright/search/mesh_policy.h"

namespace meshwright {

struct SearchPolicy {
  // A step with more ops is large.
  size_t large_ops = 10000;
  SearchEffort small;
  SearchEffort large = kLargeStepEffort;
  const SearchEffort& EffortFor(size_t ops) const {
    return ops > large_ops ? large : small;
  }

  // Share of a device's memory that plans may use; the runtime and the compiler
  // need the rest.
  double usable_memory = 0.92;
  // A candidate that is behind by this factor is unlikely to catch up.
  double behind = 1.05;

  // Non-pipelined candidates: which meshes, how many micro-batches.
  struct Enumerate {
    // Meshes on which a step takes longer than the best by this factor are
    // dropped.
    double hopeless = 1.6;
    // Meshes searched concurrently. Fixed, not the number of cores, since the
    // results of earlier meshes decide which ones follow.
    size_t side_by_side = 2;
    // Larger micro-batch counts that are tried once one fits.
    int more_counts = 1;
    // The largest micro-batch that is tried, in examples per device: without
    // rematerialisation, where larger ones hardly fit, and with it.
    int64_t few_examples = 4;
    int64_t many_examples = 64;
    // If nothing fits with fewer micro-batches than this, settings that are
    // found quickly are tried first, on `soon_found` meshes.
    int64_t far_too_large = 4;
    size_t soon_found = 4;
    // Rematerialisation is tried if the memory limit makes a step slower by
    // this factor; it is taken to have no such effect while less than `tight`
    // of the memory is used.
    double memory_costs = 1.05;
    double tight = 0.9;
  } enumerate;

  // The search on one mesh.
  MeshPolicy mesh;
  // Solver work (table cells touched): per axis of a mesh, on the most
  // promising meshes, on the best; and the gap at which it stops on all but the
  // best.
  struct Solve {
    int64_t first_work = 15'000'000;
    int64_t second_work = 100'000'000;
    int64_t last_work = 300'000'000;
    // On the best mesh, if the problem is large: work per cell of the problem,
    // and its maximum.
    int64_t work_of_cell = 1000;
    int64_t most_work = 3'000'000'000;
    double first_gap = 0.01;
    // Cells of a problem with all options of three axes; larger ones are solved
    // axis by axis.
    int64_t most_cells = 3'000'000;
    // How often a candidate is re-solved when its program takes more memory
    // than the search counted, and the factor by which each limit is tightened
    // beyond the difference.
    int max_rounds = 2;
    double tighter = 0.985;
    // With less time left than this, nothing is searched further.
    double least_seconds = 0.1;
  } solve;

  // Which coarse candidates are refined and lowered.
  struct Prune {
    // On how many meshes other settings are tried.
    size_t promising_meshes = 2;
    // Candidates that differ by less may rank differently as programs; those
    // with different rematerialisation policies even by more (`near`).
    double about_as_good = 1.02;
    double near = 1.05;
    // A plan counts as proven best on its mesh if its bound is this near, and
    // as good as another if it takes at most this much longer.
    double proven_gap = 0.02;
    double as_good = 1.01;
    // Pruned candidates are lowered after all, one by one, as long as they are
    // estimated to take less time than the best program so far; until this
    // share of the remaining time limit is over. The rest is for experts and
    // stages.
    double share_for_more = 0.3;
  } prune;

  // A third mesh axis.
  struct Refine {
    size_t most_axes = 3;
    // What another axis has to gain at least; more if the bound is lost with
    // it.
    double noticeable = 0.002;
    double worth_the_bound = 0.02;
  } refine;

  // Experts' plans as candidates.
  struct Experts {
    // An expert whose coarse candidate takes this much longer than the best is
    // not lowered.
    double far_behind = 1.15;
    // An expert whose program takes this much longer than the best is not
    // refined: refinement gains less than that.
    double searched_on = 1.02;
    // A smaller gain is no reason to prefer an expert's plan, whose bound is
    // weaker.
    double gain = 0.0005;
  } experts;

  // Pipelined against non-pipelined.
  struct Choose {
    // Pipelines estimated to take longer by this factor are not lowered.
    double worth_a_look = 1.05;
  } choose;

  ShortRunPolicy short_run;

  // Pipelines.
  struct Stages {
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
    // Nor where instructions, after loops are cut, times stages are more.
    int64_t most_cut = 1'000'000;
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
  } stages;

  LeanPolicy lean;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_PLANNER_SEARCH_POLICY_H_
