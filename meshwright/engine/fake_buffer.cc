#include "meshwright/engine/fake_buffer.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/engine/check_use.h"

namespace meshwright {

absl::StatusOr<FakeStoragePtr> FakeBuffer::Storage() const {
  const std::lock_guard lock(mutex_);
  if (storage_ != nullptr) return storage_;
  return absl::FailedPreconditionError(absl::StrCat(
      "a buffer of ", shape_.ToString(), " was deleted or donated"));
}

absl::StatusOr<int64_t> FakeBuffer::DeviceBytes() const {
  MW_ASSIGN_OR_RETURN(const FakeStoragePtr storage, Storage());
  return static_cast<int64_t>(storage->bytes.size());
}

absl::StatusOr<EventPtr> FakeBuffer::ToHost(
    absl::Span<std::byte> destination) const {
  MW_ASSIGN_OR_RETURN(const FakeStoragePtr storage, Storage());
  MW_RETURN_IF_ERROR(CheckDestination(*this, destination.size()));
  return session_->stream().Enqueue([storage, destination] {
    if (storage->status.ok()) {
      std::copy(storage->bytes.begin(), storage->bytes.end(),
                destination.begin());
    }
    return storage->status;
  });
}

absl::StatusOr<EventPtr> FakeBuffer::Ready() const {
  MW_ASSIGN_OR_RETURN(const FakeStoragePtr storage, Storage());
  return session_->stream().Enqueue([storage] { return storage->status; });
}

absl::StatusOr<BufferPtr> FakeBuffer::CopyTo(const Device& device) const {
  MW_ASSIGN_OR_RETURN(const FakeStoragePtr from, Storage());
  const FakeDevice* target = session_->Find(device);
  if (target == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(
        "device ", device.id(), " belongs to another client than the buffer"));
  }
  MW_ASSIGN_OR_RETURN(const FakeStoragePtr to,
                      target->Allocate(shape_.host_bytes()));
  session_->stream().Enqueue([from, to] {
    to->bytes = from->bytes;
    to->status = from->status;
    return to->status;
  });
  return std::make_unique<FakeBuffer>(session_, to, target, shape_);
}

void FakeBuffer::Delete() {
  const std::lock_guard lock(mutex_);
  storage_ = nullptr;
}

bool FakeBuffer::IsDeleted() const {
  const std::lock_guard lock(mutex_);
  return storage_ == nullptr;
}

absl::StatusOr<uintptr_t> FakeBuffer::Address() const {
  MW_ASSIGN_OR_RETURN(const FakeStoragePtr storage, Storage());
  return reinterpret_cast<uintptr_t>(storage->bytes.data());
}

}  // namespace meshwright
