#include "meshwright/engine/fake_device.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "meshwright/base/annotate.h"

namespace meshwright {

absl::Status FakeAccount::Take(int64_t bytes) {
  const std::lock_guard lock(mutex_);
  if (bytes > limit_ - in_use_) {
    return absl::ResourceExhaustedError(
        absl::StrCat("needs ", bytes, " bytes, ", limit_ - in_use_, " of ",
                     limit_, " are free"));
  }
  in_use_ += bytes;
  peak_ = std::max(peak_, in_use_);
  return absl::OkStatus();
}

void FakeAccount::Return(int64_t bytes) {
  const std::lock_guard lock(mutex_);
  in_use_ -= bytes;
}

DeviceMemory FakeAccount::Read() const {
  const std::lock_guard lock(mutex_);
  return {.bytes_in_use = in_use_,
          .peak_bytes_in_use = peak_,
          .limit_bytes = limit_};
}

FakeDevice::FakeDevice(int id, int process, int64_t memory_limit_bytes)
    : Device({.id = id,
              .process_index = process,
              .hardware_id = id,
              .kind = "fake",
              .description = absl::StrCat("FakeDevice(id=", id, ")")}),
      account_(std::make_shared<FakeAccount>(memory_limit_bytes)) {}

absl::StatusOr<DeviceMemory> FakeDevice::Memory() const {
  return account_->Read();
}

absl::StatusOr<FakeStoragePtr> FakeDevice::Allocate(int64_t bytes) const {
  if (absl::Status status = account_->Take(bytes); !status.ok()) {
    return Annotate(status, absl::StrCat("device ", id()));
  }
  return std::make_shared<FakeStorage>(account_, bytes);
}

}  // namespace meshwright
