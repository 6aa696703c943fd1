// What the planner tries of a step, by its size. A part of SearchPolicy.
#ifndef MESHWRIGHT_PLANNER_SEARCH_EFFORT_H_
#define MESHWRIGHT_PLANNER_SEARCH_EFFORT_H_

#include <cstddef>
#include <limits>

namespace meshwright {

struct SearchEffort {
  // Where even many micro-batches hardly fit: first those settings whose
  // plans are found quickly.
  bool quick_settings_first = false;
  // Whether coarse candidates are also searched for with a latency for each
  // all-reduce: where steps are short, the shared ones may seem too cheap.
  bool latencies_apart = true;
  // How many coarse candidates go on to the second round.
  size_t kept = 4;
  // Whether these are all refined, even if one of them is proven near-optimal
  // already.
  bool refine_all = true;
  // The gap at which the solver stops on the best mesh.
  double last_gap = 0.0005;
  // Meshes of one axis more that are tried per plan: if their problems are
  // solved axis by axis, from the best plan alone; else from each.
  size_t few_splits = 2;
  size_t many_splits = 12;
  // Whether experts' plans are refined, not only coarse candidates.
  bool refine_experts = true;
  // In how many settings an expert is tried, and how far behind its best the
  // unrestricted search may be there.
  size_t expert_settings = std::numeric_limits<size_t>::max();
  double expert_behind = 1.15;
  // Meshes per stage that are tried.
  size_t stage_meshes = 2;
  // How many stage counts with ranks of unequal size are tried.
  size_t unequal_stages = 2;
  // If some stage count is slower than the non-pipelined plan by this factor,
  // no other is tried.
  double stages_far_behind = std::numeric_limits<double>::infinity();
  // Load imbalance (busiest rank / mean) above which work is moved between
  // stages.
  double load_imbalance = 1.05;
  // Whether other meshes for single stages, and several stages per rank, are
  // tried.
  bool vary_stages = true;
};

// Refining all candidates of a large step, or moving the work of its stages,
// takes long and gains little.
inline constexpr SearchEffort kLargeStepEffort = {.quick_settings_first = true,
                                                  .latencies_apart = false,
                                                  .kept = 2,
                                                  .refine_all = false,
                                                  .last_gap = 0.01,
                                                  .few_splits = 0,
                                                  .many_splits = 0,
                                                  .refine_experts = false,
                                                  .expert_settings = 2,
                                                  .expert_behind = 1.05,
                                                  .stage_meshes = 1,
                                                  .unequal_stages = 0,
                                                  .stages_far_behind = 1.1,
                                                  .load_imbalance = 1.12,
                                                  .vary_stages = false};

}  // namespace meshwright

#endif  // MESHWRIGHT_PLANNER_SEARCH_EFFORT_H_
