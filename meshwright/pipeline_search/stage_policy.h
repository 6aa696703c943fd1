// How hard the assignment of a step to pipeline stages is searched for: every
// threshold, with its reason. They trade time for the chance of missing a
// better assignment; none of them affects correctness.
#ifndef MESHWRIGHT_PIPELINE_SEARCH_STAGE_POLICY_H_
#define MESHWRIGHT_PIPELINE_SEARCH_STAGE_POLICY_H_

#include <array>
#include <cstddef>
#include <cstdint>

namespace meshwright {

struct StagePolicy {
  // Down-sets are enumerated only up to this number; the work is quadratic in
  // it for every stage.
  size_t down_sets = 20000;
  // A cut that is this close to its bound is not improved further.
  double good_gap = 0.002;

  // By how much a stage's work may exceed its share: the saving in bytes
  // between stages is worth that much imbalance.
  double tolerance = 0.1;
  // If segments are kept whole: the most work that the bottleneck stage may
  // have, relative to the mean.
  double uneven = 1.5;
  // The least work of a stage relative to the mean, in the order of the
  // attempts. With equal layers, some stages may have one and others two; with
  // unequal ones, some stages may have hardly any work, but none is idle.
  std::array<double, 3> least = {0.5, 0.1, 1e-6};

  // Larger graphs (nodes) are merged before their down-sets are counted.
  int32_t few_nodes = 300;
  // Larger graphs are merged before searching along orders.
  int32_t many_nodes = 3000;
  // With such tolerance there are many boundaries; one order has to be enough.
  double loose = 0.25;
  // The steps by which nodes are merged: moved work relative to the smallest
  // share, added bytes relative to the largest value. The second one hardly
  // merges anything.
  struct Merge {
    double moved_work = 0;
    double added_bytes = 0;
  };
  std::array<Merge, 12> merges = {{{0, 0},
                                   {0.0005, 0},
                                   {0.0005, 0.0001},
                                   {0.0005, 0.001},
                                   {0.002, 0.001},
                                   {0.01, 0.001},
                                   {0.02, 0.001},
                                   {0.03, 0.01},
                                   {0.05, 0.02},
                                   {0.10, 0.05},
                                   {0.20, 0.1},
                                   {0.40, 0.5}}};
  // While nothing is found, the allowed balance grows by this factor. The best
  // balance does not depend on it, only how much is searched for it.
  double growth = 2;

  // Rounds of local improvement, and the prices of work that are tried for each
  // pair of stages.
  int refine_rounds = 4;
  int refine_prices = 24;

  // Some seconds of HiGHS' work at most, whose iterations are slower with more
  // rows; and the gap at which it stops.
  int64_t core_rows = 6000;
  int64_t core_nodes = 200;
  int64_t core_iterations_times_rows = 30'000'000;
  double core_gap = 1e-3;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_PIPELINE_SEARCH_STAGE_POLICY_H_
