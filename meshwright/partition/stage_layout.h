// The programs of a pipeline, each partitioned over the mesh of its stage.
//
// Within a stage the batch is split over the mesh's first axis and all state is
// on every device. What a stage keeps from its forward pass stays as it lies;
// what it gets from another lies as it did there, as far as the meshes agree.
#ifndef MESHWRIGHT_PARTITION_STAGE_LAYOUT_H_
#define MESHWRIGHT_PARTITION_STAGE_LAYOUT_H_

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/mesh/mesh.h"
#include "meshwright/mesh/sharding.h"
#include "meshwright/partition/partition.h"
#include "meshwright/partition/stage_programs.h"

namespace meshwright {

// By an index and a stage.
using StageShardings = std::map<std::pair<int64_t, int32_t>, Sharding>;

struct StagedLayout {
  std::vector<Mesh> meshes;           // By stage.
  std::vector<Partitioned> programs;  // By program.
  // On each stage that has it: leaf arrays of the step's parameters, values,
  // accumulators.
  StageShardings parameters;
  StageShardings values;
  StageShardings accumulators;
};

// `meshes` by stage. Errors as Partition.
absl::StatusOr<StagedLayout> LayOutStages(const StagedStep& step,
                                          std::vector<Mesh> meshes);

}  // namespace meshwright

#endif  // MESHWRIGHT_PARTITION_STAGE_LAYOUT_H_
