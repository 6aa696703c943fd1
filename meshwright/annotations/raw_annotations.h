// Collects the annotations of a module, in whichever form.
//
// As jax lowers in_shardings, out_shardings and with_sharding_constraint:
//   w = f32[16,32] parameter(0), sharding={devices=[2,1,4]<=[4,2]T(1,0) ...},
//       frontend_attributes={xla.sdy.sharding="#sdy.sharding<@mesh, ...>"}
//   y = f32[8,32] custom-call(x), custom_call_target="Sharding", sharding=...,
//       backend_config="unspecified_dims=[1]"
//   ROOT t = (f32[8,32]) tuple(z), sharding={{devices=[1,8]<=[8]}}
// If there is a Shardy form, it is preferred, since it says more.
#ifndef MESHWRIGHT_ANNOTATIONS_RAW_ANNOTATIONS_H_
#define MESHWRIGHT_ANNOTATIONS_RAW_ANNOTATIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/annotations/shardy_text.h"
#include "meshwright/hlo/module.h"
#include "meshwright/mesh/mesh.h"
#include "meshwright/mesh/sharding.h"

namespace meshwright {

// Exactly one of `hlo` and `shardy` is set.
struct RawAnnotation {
  enum class Target { kParameter, kOutput, kInstruction };

  Target target = Target::kInstruction;
  int64_t leaf = 0;  // Of all entry parameters, or of the result.
  const Instruction* instruction = nullptr;
  std::string where;  // For messages: "parameter 0 (w)".
  std::vector<int64_t> dimensions;
  const OpSharding* hlo = nullptr;
  std::optional<ShardySharding> shardy;
  std::vector<bool> free;  // By dimension: left to the compiler.
};

struct RawAnnotations {
  ShardyMeshes meshes;
  std::vector<RawAnnotation> list;
  // As in Annotations.
  std::vector<std::vector<const Instruction*>> sharding_groups;
};

// kInvalidArgument, naming the tensor, for annotations that cannot be parsed
// and for manually partitioned regions (shard_map). The module must have passed
// Verify and outlive the result.
absl::StatusOr<RawAnnotations> CollectAnnotations(const Module& module);

// The annotation on `mesh`, whichever mesh it was written for. Free dimensions
// are not split. kInvalidArgument if it cannot be expressed.
absl::StatusOr<Sharding> OnMesh(const RawAnnotation& annotation,
                                const Mesh& mesh);

}  // namespace meshwright

#endif  // MESHWRIGHT_ANNOTATIONS_RAW_ANNOTATIONS_H_
