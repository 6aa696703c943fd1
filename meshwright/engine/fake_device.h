// Devices of the fake engine: memory accounting, and the arrays.
//
//   FakeDevice device(0, 0, /*memory_limit_bytes=*/64);
//   device.Allocate(48);  // A FakeStorage; 16 bytes are left.
//   device.Allocate(32);  // RESOURCE_EXHAUSTED: device 0 needs 32 bytes, ...
#ifndef MESHWRIGHT_ENGINE_FAKE_DEVICE_H_
#define MESHWRIGHT_ENGINE_FAKE_DEVICE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "meshwright/engine/device.h"

namespace meshwright {

class FakeAccount {
 public:
  explicit FakeAccount(int64_t limit) : limit_(limit) {}

  absl::Status Take(int64_t bytes);
  void Return(int64_t bytes);
  DeviceMemory Read() const;

 private:
  const int64_t limit_;
  mutable std::mutex mutex_;
  int64_t in_use_ = 0;
  int64_t peak_ = 0;
};

// The contents of a buffer. Accessed by the stream's thread only, except by its
// creator before passing it on.
struct FakeStorage {
  FakeStorage(std::shared_ptr<FakeAccount> from, int64_t size)
      : account(std::move(from)), bytes(static_cast<size_t>(size)) {}
  ~FakeStorage() { account->Return(static_cast<int64_t>(bytes.size())); }
  FakeStorage(const FakeStorage&) = delete;
  FakeStorage& operator=(const FakeStorage&) = delete;

  std::shared_ptr<FakeAccount> account;
  std::vector<std::byte> bytes;
  // The error of the computation that should have produced the contents.
  absl::Status status;
};

using FakeStoragePtr = std::shared_ptr<FakeStorage>;

class FakeDevice final : public Device {
 public:
  FakeDevice(int id, int process, int64_t memory_limit_bytes);

  absl::StatusOr<DeviceMemory> Memory() const override;
  absl::StatusOr<FakeStoragePtr> Allocate(int64_t bytes) const;

 private:
  std::shared_ptr<FakeAccount> account_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_ENGINE_FAKE_DEVICE_H_
