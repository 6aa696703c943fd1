// The programs of a pipeline, each partitioned over the mesh of its stage.
//
// Without strategies the batch is sharded over the mesh's first axis and all
// state is replicated. Residuals that a stage keeps from its forward pass keep
// their sharding; values received from another stage have the same sharding as
// there, as far as the meshes agree.
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

// Keyed by an index and a stage.
using StageShardings = std::map<std::pair<int64_t, StageId>, Sharding>;

struct StagedLayout {
  std::vector<Mesh> meshes;           // By stage.
  std::vector<Partitioned> programs;  // By program.
  // On each stage that has it: shardings of leaf arrays of the step's
  // parameters, of values, and of accumulators.
  StageShardings parameters;
  // State whose sharding in the programs of a micro-batch differs from that
  // between steps: it is resharded once, at the beginning of a step.
  StageShardings at_work;
  StageShardings values;
  StageShardings accumulators;
};

// `meshes` by stage. Errors as Partition.
absl::StatusOr<StagedLayout> LayOutStages(const StagedStep& step,
                                          const std::vector<Mesh>& meshes);

// A stage's mesh, the strategies of the whole step on it, and the prices of
// reshards there. All must outlive the call.
struct StageSplit {
  const Mesh* mesh = nullptr;
  const StageStrategies* strategies = nullptr;
  const Prices* prices = nullptr;
};
// `splits` by stage. Accumulators that do not leave their stage may be partial
// sums (deferred reductions).
absl::StatusOr<StagedLayout> LayOutStages(
    const StagedStep& step, const std::vector<StageSplit>& splits);

}  // namespace meshwright

#endif  // MESHWRIGHT_PIPELINE_STAGE_LAYOUT_H_
