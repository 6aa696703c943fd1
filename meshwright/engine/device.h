// An accelerator, or a virtual device of the CPU, of this process.
//
//   for (const Device* device : client->devices())
//     std::cout << device->id() << " " << device->kind() << "\n";
//
// Owned by its client; valid while the client or any of its buffers or
// executables lives.
#ifndef MESHWRIGHT_ENGINE_DEVICE_H_
#define MESHWRIGHT_ENGINE_DEVICE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"

namespace meshwright {

// Statistics of the device's allocator; absent if it does not provide them.
struct DeviceMemory {
  int64_t bytes_in_use = 0;
  std::optional<int64_t> peak_bytes_in_use;
  std::optional<int64_t> limit_bytes;
};

struct DeviceInfo {
  int id = 0;               // Unique among all devices of the client.
  int process_index = 0;    // Of its process.
  int hardware_id = -1;     // For instance the CUDA ordinal; -1 if unknown.
  std::string kind;         // For instance "NVIDIA H200" or "cpu".
  std::string description;  // A line for people.
};

// A device of this process or of another one.
struct DevicePlace {
  int id = 0;             // As DeviceInfo's.
  int process_index = 0;  // Likewise.

  bool operator==(const DevicePlace&) const = default;
};

class Device {
 public:
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  virtual ~Device() = default;

  const DeviceInfo& info() const { return info_; }
  int id() const { return info_.id; }
  const std::string& kind() const { return info_.kind; }

  // kUnimplemented if the platform keeps no statistics (XLA's CPU does not).
  virtual absl::StatusOr<DeviceMemory> Memory() const = 0;

 protected:
  explicit Device(DeviceInfo info) : info_(std::move(info)) {}

 private:
  DeviceInfo info_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_ENGINE_DEVICE_H_
