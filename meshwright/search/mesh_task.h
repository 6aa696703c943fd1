// The search for strategies on one mesh: what is asked.
#ifndef MESHWRIGHT_SEARCH_MESH_TASK_H_
#define MESHWRIGHT_SEARCH_MESH_TASK_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "meshwright/cost/rates.h"
#include "meshwright/mesh/mesh.h"
#include "meshwright/reshard/prices.h"
#include "meshwright/reshard/reshard_path_cache.h"
#include "meshwright/search/mesh_policy.h"
#include "meshwright/search/options.h"
#include "meshwright/search/requirements.h"
#include "meshwright/solve/solve.h"

namespace meshwright {

// By value (StepModel::values): the sharding to which it is resharded once for
// all its users.
using SharedForms = std::map<GroupValueId, Sharding>;

// What is minimised.
enum class Objective : uint8_t {
  kTime,    // Seconds of computing and of communication.
  kVolume,  // The bytes sent; seconds of computing only break ties.
};

struct MeshTask {
  Mesh mesh;
  // Of communication; for kVolume, a price per byte.
  Prices prices;
  // Rates of computing. Not null.
  const Rates* rates = nullptr;
  Objective objective = Objective::kTime;
  // Whether all-reduces that programs can combine share their latency
  // (reshard_tables.h); else each has its own.
  bool joint_reductions = true;
  // Memoised reshard paths of this mesh at these prices, added to; null: start
  // without any.
  std::shared_ptr<ReshardPathCache> ways;
  std::optional<int64_t> memory_limit;  // Bytes per device.
  // The mesh is that of one of so many pipeline stages, which holds this share
  // of the residuals kept per micro-batch.
  double stages = 1;
  Requirements requirements;
  MeshPolicy policy;
  SolveOptions solve;
  // The axis places of a plan to start from, of this mesh or one with as
  // many axes.
  std::vector<AxisPlaces> warm_start;
  SharedForms warm_start_shared;  // If that plan is of this mesh.
  // If set, `warm_start` is a plan of this mesh that takes this long, and the
  // search stops as soon as neither `first_axis` nor the axes after it improve
  // on it.
  std::optional<double> warm_start_seconds;
  int32_t first_axis = 0;  // The axis that SketchMesh solves for first.

  // The part of a latency that an array which is reduced together with others
  // takes.
  double FurtherArray() const {
    return joint_reductions ? rates->further_array.value : 1;
  }
  // What a second of computing counts.
  double ComputingWeight() const {
    return objective == Objective::kTime ? 1 : policy.computing_beside_volume;
  }
};

}  // namespace meshwright

#endif  // MESHWRIGHT_SEARCH_MESH_TASK_H_
