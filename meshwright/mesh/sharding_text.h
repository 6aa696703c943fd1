// Shardings as text, in the forms sharding.h shows, and whether one fits.
//
//   MW_ASSIGN_OR_RETURN(Sharding s, ParseSharding("[data, -] +{model}", {8, 6},
//                                                 mesh));
//   ToString(s, mesh);                      // "[data, -] +{model}"
//   CheckSharding(s, {8, 7}, mesh, false);  // dimension 1 has size 7, not 6
//
//   sharding   [dim, dim, ...], then if pending a reduction and its {axes}:
//              + * max min and or
//   dim        axes, or parts with blanks between: size:axes size:axes
//   axes       - for none, a piece, or (piece, piece, ...) major first
//   piece      an axis name; data:(2)4 is the part of size 4 of `data` that
//              comes after a major part of 2
#ifndef MESHWRIGHT_MESH_SHARDING_TEXT_H_
#define MESHWRIGHT_MESH_SHARDING_TEXT_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "meshwright/mesh/mesh.h"
#include "meshwright/mesh/sharding.h"

namespace meshwright {

std::string ToString(const Sharding& sharding, const Mesh& mesh);

// The sharding of an array with these dimensions; may be uneven.
// kInvalidArgument says in one line what is wrong. Blanks are optional.
absl::StatusOr<Sharding> ParseSharding(absl::string_view text,
                                       absl::Span<const int64_t> dimensions,
                                       const Mesh& mesh);

// A single piece, such as "data" or "data:(2)4".
absl::StatusOr<AxisList> ParseAxes(absl::string_view piece, const Mesh& mesh);

// The piece of `size` of an axis after a major part of `before`: fails if its
// sub-axes do not divide that way.
absl::StatusOr<AxisList> FindSubAxes(const Mesh& mesh, absl::string_view name,
                                     int64_t before, int64_t size);

// kInvalidArgument if `sharding` does not fit an array of these dimensions:
// wrong rank or sizes, axes that do not exist or are used twice, or splits that
// do not divide. With `allow_uneven` contiguous splits need not divide.
absl::Status CheckSharding(const Sharding& sharding,
                           absl::Span<const int64_t> dimensions,
                           const Mesh& mesh, bool allow_uneven);

}  // namespace meshwright

#endif  // MESHWRIGHT_MESH_SHARDING_TEXT_H_
