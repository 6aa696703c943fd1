// Buffers of the fake engine.
#ifndef MESHWRIGHT_ENGINE_FAKE_BUFFER_H_
#define MESHWRIGHT_ENGINE_FAKE_BUFFER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "meshwright/engine/buffer.h"
#include "meshwright/engine/fake_device.h"
#include "meshwright/engine/fake_session.h"

namespace meshwright {

class FakeBuffer final : public Buffer {
 public:
  FakeBuffer(std::shared_ptr<FakeSession> session, FakeStoragePtr storage,
             const FakeDevice* device, BufferShape shape)
      : session_(std::move(session)),
        device_(device),
        shape_(std::move(shape)),
        storage_(std::move(storage)) {}

  const BufferShape& shape() const override { return shape_; }
  const Device& device() const override { return *device_; }
  absl::StatusOr<int64_t> DeviceBytes() const override;
  absl::StatusOr<EventPtr> ToHost(
      absl::Span<std::byte> destination) const override;
  absl::StatusOr<EventPtr> Ready() const override;
  absl::StatusOr<BufferPtr> CopyTo(const Device& device) const override;
  void Delete() override;
  bool IsDeleted() const override;
  absl::StatusOr<uintptr_t> Address() const override;

  // kFailedPrecondition if deleted.
  absl::StatusOr<FakeStoragePtr> Storage() const;

 private:
  std::shared_ptr<FakeSession> session_;
  const FakeDevice* device_;
  BufferShape shape_;
  mutable std::mutex mutex_;
  FakeStoragePtr storage_;  // Null once deleted.
};

}  // namespace meshwright

#endif  // MESHWRIGHT_ENGINE_FAKE_BUFFER_H_
