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

#include "meshwright/planner/lean_policy.h"
#include "meshwright/planner/search_effort.h"
#include "meshwright/planner/short_run_policy.h"
#include "meshwright/planner/stage_search_policy.h"
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

  StageSearchPolicy stages;

  LeanPolicy lean;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_PLANNER_SEARCH_POLICY_H_
