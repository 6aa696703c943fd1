// Infers the mesh that a module's own annotations refer to.
//
//   {devices=[2,1,4]<=[4,2]T(1,0) last_tile_dim_replicate}, {devices=[8]<=[8]}
//   -> a=4,b=2: eight devices, whose last digit, of size 2, is used by itself
#ifndef MESHWRIGHT_ANNOTATIONS_INFER_MESH_H_
#define MESHWRIGHT_ANNOTATIONS_INFER_MESH_H_

#include "absl/status/statusor.h"
#include "meshwright/annotations/raw_annotations.h"
#include "meshwright/hlo/module.h"
#include "meshwright/mesh/mesh.h"

namespace meshwright {

// A mesh on which ReadAnnotations succeeds: Shardy's, if the module names one,
// or that of a shard_map region; otherwise one with as few axes as possible,
// named a, b, ... kNotFound if no annotation says how many devices there are;
// kInvalidArgument if no mesh expresses all annotations.
absl::StatusOr<Mesh> InferMesh(const Module& module);

// The same for annotations that are all in HLO's form.
absl::StatusOr<Mesh> MeshOfTiles(const RawAnnotations& raw);

}  // namespace meshwright

#endif  // MESHWRIGHT_ANNOTATIONS_INFER_MESH_H_
