// Shardy's meshes and shardings, as written in a module's frontend attributes.
//
//   xla.sdy.meshes    {mesh = #sdy.mesh<["data"=4, "model"=2]>}
//   xla.sdy.sharding  #sdy.sharding<@mesh, [{"data"}, {"model":(1)2, ?}, {?}]>
//                     #sdy.sharding_per_value<[<@mesh, [{}, {"data"}]>]>
#ifndef MESHWRIGHT_ANNOTATIONS_SHARDY_TEXT_H_
#define MESHWRIGHT_ANNOTATIONS_SHARDY_TEXT_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "meshwright/hlo/shape.h"
#include "meshwright/mesh/mesh.h"
#include "meshwright/mesh/sharding.h"

namespace meshwright {

using ShardyMeshes = std::map<std::string, Mesh>;

// The name of such an axis on our meshes: unsupported characters become '_'.
std::string AxisIdentifier(absl::string_view name);

// By name. Meshes that stand for a single given device are left out.
absl::StatusOr<ShardyMeshes> ParseShardyMeshes(absl::string_view text);

struct ShardySharding {
  Mesh mesh;
  Sharding sharding;       // On `mesh`; unreduced axes are pending sums.
  std::vector<bool> free;  // By dimension: {?}, left to the compiler.
};

// One sharding or a list of them, for arrays of these shapes. A dimension that
// may be split further ({"data", ?}) is taken as it is.
absl::StatusOr<std::vector<ShardySharding>> ParseShardyShardings(
    absl::string_view text, const ShardyMeshes& meshes,
    absl::Span<const Shape* const> shapes);

}  // namespace meshwright

#endif  // MESHWRIGHT_ANNOTATIONS_SHARDY_TEXT_H_
