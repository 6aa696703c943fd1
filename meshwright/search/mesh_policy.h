// How hard strategies on one mesh are searched for: every threshold, with its
// reason. They trade time for the chance of missing a better plan; none of them
// affects correctness.
#ifndef MESHWRIGHT_SEARCH_MESH_POLICY_H_
#define MESHWRIGHT_SEARCH_MESH_POLICY_H_

#include <cstdint>

namespace meshwright {

struct MeshPolicy {
  // Rounds over the axes, if they are searched one after the other.
  int axis_rounds = 2;
  // A round that improves the plan by less than this part ends them.
  double least_gain = 1e-4;
  // Larger problems (cells of cost tables) are never solved for all axes at
  // once.
  int64_t most_cells = 30'000'000;
  // Values that take less than this part of the memory are subtracted from the
  // limit instead of being tracked.
  double small_value = 2e-5;
  // A plan fits if it is above the limit by at most this factor: the count is
  // less exact than that.
  double about_fits = 1.02;
  // A plan that certainly fits is taken if it is slower than one that may not
  // fit by at most this factor; programs may fit although the count says
  // otherwise.
  double worth_fitting = 1.1;
  // A second of computing counts as this many if the volume of communication
  // is minimised, in which a gigabyte is a second: it only breaks ties.
  double computing_beside_volume = 1e-3;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_SEARCH_MESH_POLICY_H_
