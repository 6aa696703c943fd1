// Moves arrays from the devices of one stage to those of another, tile by tile.
//
//   TileMover mover(client);
//   MW_ASSIGN_OR_RETURN(ShardedArray there, mover.Move(array, route, devices));
//
// Arrays that move as they are take one copy per device. Where a device gets
// several tiles, or parts of an array, small programs cut them out and put them
// together; they are compiled when first needed. Thread-safe.
#ifndef MESHWRIGHT_RUNTIME_STAGED_TRANSFER_H_
#define MESHWRIGHT_RUNTIME_STAGED_TRANSFER_H_

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "meshwright/hlo/module.h"
#include "meshwright/pipeline/stage_transfer.h"
#include "meshwright/runtime/sharded_array.h"

namespace meshwright {

// A way from stage to stage, for arrays that lie alike.
struct Route {
  SendList list;
  Shape shape;  // Of the arrays on the target's devices.
};

class TileMover {
 public:
  explicit TileMover(Client* client) : client_(client) {}

  // Starts the copies, to the target's devices.
  absl::StatusOr<ShardedArray> Move(const ShardedArray& array,
                                    const Route& route,
                                    absl::Span<const Device* const> devices);

 private:
  // Fetches tiles and puts them in their places, over what is `beneath`.
  absl::StatusOr<ShardedArray> Gather(const ShardedArray& from,
                                      const std::vector<Tile>& tiles,
                                      const ShardedArray& beneath,
                                      const Shape& shape,
                                      absl::Span<const Device* const> devices);
  // The bytes of a tile, on the device that it goes to.
  absl::StatusOr<BufferPtr> Fetch(const Buffer& from, const Tile& tile,
                                  const Device& to);
  // Tiles in their places; what none covers is zero.
  absl::StatusOr<BufferPtr> Assemble(std::vector<BufferPtr> parts,
                                     const std::vector<const Tile*>& tiles,
                                     const Shape& shape, const Device& device);
  absl::StatusOr<Executable*> Compiled(const Module& module,
                                       const Device& device);

  Client* client_;
  std::mutex mutex_;
  std::map<std::pair<int, std::string>, std::unique_ptr<Executable>> programs_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_RUNTIME_STAGED_TRANSFER_H_
