// The programs of a pipeline, each partitioned over the mesh of its stage.
//
// Without strategies the batch is split over the mesh's first axis and all
// state is on every device. What a stage keeps from its forward pass stays as
// it lies; what it gets from another lies as it did there, as far as the meshes
// agree.
#ifndef MESHWRIGHT_PIPELINE_STAGE_LAYOUT_H_
#define MESHWRIGHT_PIPELINE_STAGE_LAYOUT_H_

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/mesh/mesh.h"
#include "meshwright/mesh/sharding.h"
#include "meshwright/partition/partition.h"
#include "meshwright/pipeline/stage_programs.h"
#include "meshwright/pipeline/stage_strategies.h"
#include "meshwright/reshard/prices.h"

namespace meshwright {

// By an index and a stage.
using StageShardings = std::map<std::pair<int64_t, int32_t>, Sharding>;

struct StagedLayout {
  std::vector<Mesh> meshes;           // By stage.
  std::vector<Partitioned> programs;  // By program.
  // On each stage that has it: leaf arrays of the step's parameters, values,
  // accumulators.
  StageShardings parameters;
  // State, where programs of a micro-batch want it otherwise than it lies
  // between steps: moved once, when a step begins.
  StageShardings at_work;
  StageShardings values;
  StageShardings accumulators;
};

// `meshes` by stage. Errors as Partition.
absl::StatusOr<StagedLayout> LayOutStages(const StagedStep& step,
                                          const std::vector<Mesh>& meshes);

// A stage's mesh, how the whole step was to be split on it, what moves cost
// there. All outlive the call.
struct StageSplit {
  const Mesh* mesh = nullptr;
  const StageStrategies* strategies = nullptr;
  const Prices* prices = nullptr;
};
// `splits` by stage. Accumulators that do not leave their stage may be partial
// sums.
absl::StatusOr<StagedLayout> LayOutStages(
    const StagedStep& step, const std::vector<StageSplit>& splits);

}  // namespace meshwright

#endif  // MESHWRIGHT_PIPELINE_STAGE_LAYOUT_H_
