// The transfers between the devices of two meshes that give an array with a
// sharding on one mesh another sharding on the other.
//
//   f32[8], sharded over data=4, to a stage with data=2:
//     0 -> 0 at 0, 1 -> 0 at 2, 2 -> 1 at 0, 3 -> 1 at 2
//   to a stage where both devices have all of it: the same, and the halves are
//   exchanged there, so that each byte is sent between the meshes once. (Arrays
//   as small as this one are sent twice instead.)
#ifndef MESHWRIGHT_PIPELINE_STAGE_TRANSFER_H_
#define MESHWRIGHT_PIPELINE_STAGE_TRANSFER_H_

#include <cstdint>
#include <vector>

#include "meshwright/mesh/mesh.h"
#include "meshwright/mesh/sharding.h"

namespace meshwright {

// A box of elements. Its starts are relative to the devices' local arrays.
struct Tile {
  int64_t from = 0;  // Device of the source.
  int64_t to = 0;    // Device of the target.
  std::vector<int64_t> from_start;
  std::vector<int64_t> to_start;
  std::vector<int64_t> sizes;

  bool operator==(const Tile&) const = default;
};

struct SendList {
  // Sent by devices of the source; disjoint, ordered by `to`.
  std::vector<Tile> sent;
  // Sent afterwards by devices of the target, of what they received.
  std::vector<Tile> shared;

  // Whether every device of the target gets one whole local array unchanged.
  bool is_plain = false;
};

// Requires: the shardings are of arrays of the same dimensions, not pending.
SendList MakeSendList(const Sharding& from, const Mesh& source,
                      const Sharding& to, const Mesh& target);

}  // namespace meshwright

#endif  // MESHWRIGHT_PIPELINE_STAGE_TRANSFER_H_
