// Cuts tiles out of arrays and assembles them, on devices.
//
//   MW_ASSIGN_OR_RETURN(BufferPtr tile, mover.Fetch(*shard, tile, device));
//   MW_ASSIGN_OR_RETURN(
//       BufferPtr shard,
//       mover.Assemble(std::move(tiles), places, shape, device));
//
// Done by small programs, compiled when first needed. Thread-safe.
#ifndef MESHWRIGHT_RUNTIME_TILE_MOVER_H_
#define MESHWRIGHT_RUNTIME_TILE_MOVER_H_

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "meshwright/engine/client.h"
#include "meshwright/hlo/module.h"
#include "meshwright/pipeline/stage_transfer.h"

namespace meshwright {

class TileMover {
 public:
  explicit TileMover(Client* client) : client_(client) {}

  // A tile, copied to its target device.
  absl::StatusOr<BufferPtr> Fetch(const Buffer& from, const Tile& tile,
                                  const Device& to);
  // A tile, on the device that has it.
  absl::StatusOr<BufferPtr> SliceOut(const Buffer& from, const Tile& tile);
  // Tiles in their places; zero where there is none.
  absl::StatusOr<BufferPtr> Assemble(std::vector<BufferPtr> parts,
                                     const std::vector<const Tile*>& tiles,
                                     const Shape& shape, const Device& device);

 private:
  absl::StatusOr<Executable*> Compiled(const Module& module,
                                       const Device& device);

  Client* client_;
  std::mutex mutex_;
  std::map<std::pair<int, std::string>, std::unique_ptr<Executable>> programs_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_RUNTIME_TILE_MOVER_H_
