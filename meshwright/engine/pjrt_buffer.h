// Buffers of a PJRT client. They are row-major: programs with other layouts are
// rejected after compilation (program_signature.h).
//
//   MW_ASSIGN_OR_RETURN(BufferPtr buffer,
//                       SendToDevice(session, array, *device));
#ifndef MESHWRIGHT_ENGINE_PJRT_BUFFER_H_
#define MESHWRIGHT_ENGINE_PJRT_BUFFER_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "meshwright/engine/buffer.h"
#include "meshwright/engine/client.h"
#include "meshwright/engine/pjrt_api.h"
#include "meshwright/engine/pjrt_session.h"

namespace meshwright {

class PjrtBuffer final : public Buffer {
 public:
  // `device` must be one of the session's. The shape is shared so that outputs
  // of a program need no copies of theirs.
  PjrtBuffer(std::shared_ptr<const PjrtSession> session,
             PjrtHandle<PJRT_Buffer> handle, const PjrtDevice* device,
             std::shared_ptr<const BufferShape> shape)
      : session_(std::move(session)),
        handle_(std::move(handle)),
        device_(device),
        shape_(std::move(shape)) {}

  const BufferShape& shape() const override { return *shape_; }
  const Device& device() const override { return *device_; }
  absl::StatusOr<int64_t> DeviceBytes() const override;
  absl::StatusOr<EventPtr> ToHost(
      absl::Span<std::byte> destination) const override;
  absl::StatusOr<EventPtr> Ready() const override;
  absl::StatusOr<BufferPtr> CopyTo(const Device& device) const override;
  void Delete() override;
  bool IsDeleted() const override;
  absl::StatusOr<uintptr_t> Address() const override;

  PJRT_Buffer* handle() const { return handle_.get(); }

 private:
  absl::Status CheckAlive() const;
  absl::StatusOr<BufferPtr> CopyThroughHost(const PjrtDevice& device) const;

  std::shared_ptr<const PjrtSession> session_;
  PjrtHandle<PJRT_Buffer> handle_;  // Goes before the session.
  const PjrtDevice* device_;
  std::shared_ptr<const BufferShape> shape_;
};

// Client::FromHost() for checked arguments.
absl::StatusOr<BufferPtr> SendToDevice(
    std::shared_ptr<const PjrtSession> session, const HostArray& array,
    const PjrtDevice& device);

}  // namespace meshwright

#endif  // MESHWRIGHT_ENGINE_PJRT_BUFFER_H_
