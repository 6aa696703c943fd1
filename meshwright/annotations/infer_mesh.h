// The mesh that a module's own annotations speak of.
//
//   {devices=[2,1,4]<=[4,2]T(1,0) last_tile_dim_replicate}, {devices=[8]<=[8]}
//   -> a=4,b=2: eight devices, of which the last two-way digit is used alone
#ifndef MESHWRIGHT_ANNOTATIONS_INFER_MESH_H_
#define MESHWRIGHT_ANNOTATIONS_INFER_MESH_H_

#include "absl/status/statusor.h"
#include "meshwright/annotations/raw_annotations.h"
#include "meshwright/hlo/module.h"
#include "meshwright/mesh/mesh.h"

namespace meshwright {

// A mesh on which ReadAnnotations succeeds: Shardy's, if the module names one,
// or that of a shard_map region, otherwise one with as few axes as will do,
// called a, b, ... kNotFound when no annotation says how many devices there
// are; kInvalidArgument when no mesh expresses them all.
absl::StatusOr<Mesh> InferMesh(const Module& module);

// The same of annotations that are all HLO's own.
absl::StatusOr<Mesh> MeshOfTiles(const RawAnnotations& raw);

}  // namespace meshwright

#endif  // MESHWRIGHT_ANNOTATIONS_INFER_MESH_H_
