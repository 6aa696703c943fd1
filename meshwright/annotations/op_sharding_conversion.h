// Conversion between HLO's sharding annotations (HloSharding) and shardings on
// a mesh.
//
//   mesh data=4,model=2
//   {devices=[2,1,4]<=[4,2]T(1,0) last_tile_dim_replicate}  <->  [model, -]
#ifndef MESHWRIGHT_ANNOTATIONS_OP_SHARDING_CONVERSION_H_
#define MESHWRIGHT_ANNOTATIONS_OP_SHARDING_CONVERSION_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "meshwright/hlo/op_sharding.h"
#include "meshwright/mesh/mesh.h"
#include "meshwright/mesh/sharding.h"

namespace meshwright {

// The devices of a tiled annotation in the order of its tiles.
absl::StatusOr<std::vector<int64_t>> TileDevices(const OpSharding& annotation);

// The sharding of an array with these dimensions. kInvalidArgument for tiles
// that are not products of sub-axes of the mesh, in the mesh's order of
// devices, and for annotations other than replicated and tiled. A tile
// dimension that is marked as unreduced becomes a pending sum.
absl::StatusOr<Sharding> FromOpSharding(const OpSharding& annotation,
                                        absl::Span<const int64_t> dimensions,
                                        const Mesh& mesh);

// kInvalidArgument for strided and pending shardings, which HLO cannot express.
absl::StatusOr<OpSharding> ToOpSharding(const Sharding& sharding,
                                        const Mesh& mesh);

}  // namespace meshwright

#endif  // MESHWRIGHT_ANNOTATIONS_OP_SHARDING_CONVERSION_H_
