// The devices of a job's stages that belong to one worker.
#ifndef MESHWRIGHT_RUNTIME_OWN_DEVICES_H_
#define MESHWRIGHT_RUNTIME_OWN_DEVICES_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "meshwright/engine/buffer.h"
#include "meshwright/engine/device.h"

namespace meshwright {

// The shards of an array on this worker's devices; they may still be computed
// or copied. Several users may share one.
using OwnArray = std::vector<BufferPtr>;
using SharedArray = std::shared_ptr<OwnArray>;

// For one stage. Arrays have one shard for each device, in this order.
struct OwnDevices {
  std::vector<int64_t> positions;  // In the stage's mesh; ascending.
  std::vector<const Device*> devices;
  std::vector<int32_t> index_of;  // By position: its index here, or -1.

  size_t size() const { return devices.size(); }
  bool empty() const { return devices.empty(); }
};

}  // namespace meshwright

#endif  // MESHWRIGHT_RUNTIME_OWN_DEVICES_H_
