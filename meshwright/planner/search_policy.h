// How hard the planner looks, and when it stops: every threshold of the driver,
// with the reason it has. What they are is a trade of planning time for what is
// likely to be missed; none of them makes a plan wrong.
#ifndef MESHWRIGHT_PLANNER_SEARCH_POLICY_H_
#define MESHWRIGHT_PLANNER_SEARCH_POLICY_H_

#include <cstddef>
#include <cstdint>

namespace meshwright {

struct SearchPolicy {
  // A step with more operations is large: less is tried.
  size_t large_ops = 10000;
  // Of a device's memory; the runtime and the compiler need the rest.
  double usable_memory = 0.92;
  // What a candidate hardly makes up for once it is behind by this factor.
  double behind = 1.05;

  // Candidates without stages: which meshes, how many micro-batches.
  struct Enumerate {
    // Meshes that take longer than the best by this factor are left out.
    double hopeless = 1.6;
    // Meshes looked at together; not a matter of the machine's cores, since
    // which ones are depends on what those before gave.
    size_t side_by_side = 2;
    // More numbers of micro-batches that are tried once one fits.
    int more_counts = 1;
    // Of a micro-batch for each device: without recomputation, more hardly fit.
    int64_t few_examples = 4;
    int64_t many_examples = 64;
    // Micro-batches below which nothing fits; then first what is soon found,
    // on so many meshes.
    int64_t far_too_large = 4;
    size_t soon_found = 4;
    // So much longer for want of memory, a step is worth to be recomputed;
    // there is no want as long as less of the memory is used.
    double memory_costs = 1.05;
    double tight = 0.9;
  } enumerate;

  // Cells that the solver may touch and the gap at which it stops: for each
  // axis of a mesh, on the most promising meshes, on the best.
  struct Solve {
    int64_t first_work = 15'000'000;
    int64_t second_work = 100'000'000;
    int64_t last_work = 300'000'000;
    // Of the best, where the problem is large: for each of its cells, and at
    // most.
    int64_t work_of_cell = 1000;
    int64_t most_work = 3'000'000'000;
    double first_gap = 0.01;
    double last_gap = 0.0005;
    // Of a problem with all options of three axes.
    int64_t most_cells = 3'000'000;
    // Times that memory is counted anew when the program turns out larger than
    // the search counted; and each time a bit more than it seems to take.
    int max_rounds = 2;
    double tighter = 0.985;
  } solve;

  // Which sketches are improved and written.
  struct Prune {
    // So many go on to the second round; of small steps twice as many.
    size_t promising = 2;
    // Sketches that differ by less may be each other's equals as programs;
    // those that do not compute the same again, even by more.
    double about_as_good = 1.02;
    double near = 1.05;
    // A plan is as good as proven best on its mesh when the bound is as near;
    // and as good as another when it takes hardly longer.
    double proven_gap = 0.02;
    double as_good = 1.01;
    // Sketches left out that are written after all, one by one, as long as they
    // are estimated to take less than the best that is written.
    int more_written = 2;
  } prune;

  // A third axis.
  struct Refine {
    size_t most_axes = 3;
    // What another axis has to gain at least; more where the bound is lost.
    double noticeable = 0.002;
    double worth_the_bound = 0.02;
    // Meshes that are tried from one plan: of steps that are not small from the
    // best alone, of small ones from each.
    size_t few_splits = 2;
    size_t many_splits = 12;
  } refine;

  // Plans of experts, as candidates.
  struct Experts {
    // Where a sketch takes so much longer than the best, no program is made of
    // it, nor is an expert looked at where the search's own does.
    double far_behind = 1.15;
    // Less is no reason to prefer an expert's plan, of which less is proven.
    double gain = 0.0005;
  } experts;

  // Stages against none.
  struct Choose {
    // When they are estimated to take more, they are not worth to be written.
    double worth_a_look = 1.05;
  } choose;

  // Pipelines.
  struct Stages {
    int64_t most = 64;
    // Numbers near this one are looked at first.
    double usual = 6;
    // Numbers of stages with unequal shares that are looked at.
    size_t unequal = 2;
    // Looked at together; not a matter of the machine's cores.
    size_t together = 2;
    // Meshes of a stage that are looked at; of large steps one.
    size_t meshes = 2;
    // Micro-batches for each stage, so that bubbles are few; and at most.
    int64_t fewest_micro_batches = 4;
    int64_t most_micro_batches = 256;
    // Of a step's time; with more bubbles, smaller micro-batches may help, and
    // in steps that are not too large ranks may have two stages.
    double few_bubbles = 0.03;
    // Of the memory that all devices of a stage have left: not everything can
    // be split over all of them.
    double filled = 0.5;
    // So much slower than without stages, no number of them is likely to do.
    double far_behind = 1.1;
    // The fullest rank may take so many times the mean before work is moved; in
    // a large step, where that takes long; and how often it is.
    double full = 1.05;
    double full_of_large = 1.12;
    int most_moves = 2;
    // Written after the first that fits, as long as they are estimated to take
    // less than what is written.
    int more_written = 2;
    // Of the search for a timetable: actions simulated.
    int64_t schedule_work = 1'000'000;
    // The same, for what is only compared with others.
    int64_t estimate_work = 50'000;
    // Of the search for a cut, which takes the square of it for every stage.
    size_t down_sets = 3000;
    // Limits of memory this close need no other between them.
    double close = 1.2;
  } stages;

  // The least memory that can be.
  struct Lean {
    // What a lean plan may take of the least, in the order in which it is
    // tried.
    double slacks[4] = {1.05, 1.5, 4, 1e6};
    // How close to the best time it must be.
    double gap = 0.1;
    size_t max_settings = 4;
    size_t max_counts = 3;
    // Clusters that are thought of when nothing fits.
    int64_t most_devices = 4096;
  } lean;
};

inline constexpr SearchPolicy kSearchPolicy;

}  // namespace meshwright

#endif  // MESHWRIGHT_PLANNER_SEARCH_POLICY_H_
