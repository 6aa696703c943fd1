// An array in the memory of one device.
//
//   std::vector<float> values(6);
//   MW_RETURN_IF_ERROR(buffer->ReadToHost(AsWritableBytes(values)));
//
// A buffer may still be under computation when it is returned; operations on
// its contents wait for that by themselves. It keeps its client alive. Const
// members are thread-safe; Delete() must not race with other uses.
#ifndef MESHWRIGHT_ENGINE_BUFFER_H_
#define MESHWRIGHT_ENGINE_BUFFER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "meshwright/engine/buffer_shape.h"
#include "meshwright/engine/device.h"
#include "meshwright/engine/event.h"

namespace meshwright {

class Buffer {
 public:
  Buffer() = default;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  virtual ~Buffer() = default;

  virtual const BufferShape& shape() const = 0;
  virtual const Device& device() const = 0;

  // Memory used on the device, including padding.
  virtual absl::StatusOr<int64_t> DeviceBytes() const = 0;

  // Starts copying the array, row-major, into `destination`, which must stay
  // valid until the event is ready and be exactly shape().host_bytes() long.
  virtual absl::StatusOr<EventPtr> ToHost(
      absl::Span<std::byte> destination) const = 0;

  // ToHost() and Await() in one.
  absl::Status ReadToHost(absl::Span<std::byte> destination) const;

  // Ready once the contents are; carries the error of the execution that
  // computes them.
  virtual absl::StatusOr<EventPtr> Ready() const = 0;

  // Starts a copy on another (or the same) device of the same client.
  virtual absl::StatusOr<std::unique_ptr<Buffer>> CopyTo(
      const Device& device) const = 0;

  // Frees the memory once no pending work needs it. Idempotent. Execute() does
  // this to donated arguments.
  virtual void Delete() = 0;
  virtual bool IsDeleted() const = 0;

  // The address on the device. For diagnostics.
  virtual absl::StatusOr<uintptr_t> Address() const = 0;
};

using BufferPtr = std::unique_ptr<Buffer>;

template <typename T>
absl::Span<std::byte> AsWritableBytes(std::vector<T>& values) {
  return {reinterpret_cast<std::byte*>(values.data()),
          values.size() * sizeof(T)};
}

template <typename T>
absl::Span<const std::byte> AsBytes(const std::vector<T>& values) {
  return {reinterpret_cast<const std::byte*>(values.data()),
          values.size() * sizeof(T)};
}

}  // namespace meshwright

#endif  // MESHWRIGHT_ENGINE_BUFFER_H_
