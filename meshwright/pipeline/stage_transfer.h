// What has to be sent so that an array that lies on one mesh comes to lie on
// another.
//
//   f32[8], split over data=4, to a stage with data=2:
//     0 -> 0 at 0, 1 -> 0 at 2, 2 -> 1 at 0, 3 -> 1 at 2
//   to one where both devices have all of it: the same, and the halves are
//   exchanged there, so that each byte goes between the meshes once. (What is
//   as small as this is rather sent twice.)
#ifndef MESHWRIGHT_PIPELINE_STAGE_TRANSFER_H_
#define MESHWRIGHT_PIPELINE_STAGE_TRANSFER_H_

#include <cstdint>
#include <vector>

#include "meshwright/mesh/mesh.h"
#include "meshwright/mesh/sharding.h"

namespace meshwright {

// A box of elements. Where it starts is counted in the arrays of the devices.
struct Tile {
  int64_t from = 0;  // Device.
  int64_t to = 0;    // Device of the target.
  std::vector<int64_t> from_start;
  std::vector<int64_t> to_start;
  std::vector<int64_t> sizes;

  bool operator==(const Tile&) const = default;
};

struct SendList {
  // From devices of the source; disjoint, by `to`.
  std::vector<Tile> sent;
  // From devices of the target, afterwards, what they were sent.
  std::vector<Tile> shared;

  // Whether every device of the target gets one whole array, as it is.
  bool is_plain = false;
};

// Requires: the shardings are of arrays of the same dimensions, not pending.
SendList MakeSendList(const Sharding& from, const Mesh& source,
                      const Sharding& to, const Mesh& target);

}  // namespace meshwright

#endif  // MESHWRIGHT_PIPELINE_STAGE_TRANSFER_H_
