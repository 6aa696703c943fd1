#include "meshwright/engine/pjrt_buffer.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/engine/check_use.h"
#include "meshwright/engine/pjrt_element_type.h"

namespace meshwright {
namespace {

// Keeps host memory alive until PJRT no longer needs it.
struct HostHold {
  const PjrtApi* api;
  PJRT_Event* event;
  std::shared_ptr<const void> owner;
};

void ReleaseHostHold(PJRT_Error* error, void* user_arg) {
  const std::unique_ptr<HostHold> hold(static_cast<HostHold*>(user_arg));
  // A failed transfer is reported by the buffer itself.
  hold->api->ToStatus(error).IgnoreError();
  PjrtDelete{hold->api}(hold->event);
}

absl::Status HoldUntil(const PjrtSession& session, PjrtHandle<PJRT_Event> done,
                       std::shared_ptr<const void> owner) {
  auto args = NewPjrtArgs<PJRT_Event_OnReady_Args>();
  args.event = done.get();
  args.callback = ReleaseHostHold;
  auto hold = std::make_unique<HostHold>(
      HostHold{&session.api(), done.get(), std::move(owner)});
  args.user_arg = hold.get();
  MW_RETURN_IF_ERROR(session.api().Call(MW_PJRT(PJRT_Event_OnReady), args));
  // Both now belong to the callback, which may have run already.
  static_cast<void>(hold.release());
  static_cast<void>(done.release());
  return absl::OkStatus();
}

PJRT_HostBufferSemantics SemanticsFor(const PjrtSession& session,
                                      const HostArray& array) {
  if (array.owner == nullptr) {
    return PJRT_HostBufferSemantics_kImmutableOnlyDuringCall;
  }
  return session.platform_name() == "cpu"
             ? PJRT_HostBufferSemantics_kImmutableZeroCopy
             : PJRT_HostBufferSemantics_kImmutableUntilTransferCompletes;
}

}  // namespace

absl::StatusOr<BufferPtr> SendToDevice(
    std::shared_ptr<const PjrtSession> session, const HostArray& array,
    const PjrtDevice& device) {
  auto args = NewPjrtArgs<PJRT_Client_BufferFromHostBuffer_Args>();
  args.client = session->client();
  args.data = array.bytes.data();
  args.type = ToPjrt(array.shape.type);
  args.dims = array.shape.dimensions.data();
  args.num_dims = array.shape.dimensions.size();
  args.host_buffer_semantics = SemanticsFor(*session, array);
  args.device = device.handle();
  MW_RETURN_IF_ERROR(
      session->api().Call(MW_PJRT(PJRT_Client_BufferFromHostBuffer), args));
  auto done = session->Own(args.done_with_host_buffer);
  auto handle = session->Own(args.buffer);
  if (array.owner != nullptr) {
    MW_RETURN_IF_ERROR(HoldUntil(*session, std::move(done), array.owner));
  }
  return std::make_unique<PjrtBuffer>(
      std::move(session), std::move(handle), &device,
      std::make_shared<const BufferShape>(array.shape));
}

absl::Status PjrtBuffer::CheckAlive() const {
  if (!IsDeleted()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "a buffer of ", shape_->ToString(), " was deleted or donated"));
}

absl::StatusOr<int64_t> PjrtBuffer::DeviceBytes() const {
  MW_RETURN_IF_ERROR(CheckAlive());
  auto args = NewPjrtArgs<PJRT_Buffer_OnDeviceSizeInBytes_Args>();
  args.buffer = handle();
  MW_RETURN_IF_ERROR(
      session_->api().Call(MW_PJRT(PJRT_Buffer_OnDeviceSizeInBytes), args));
  return static_cast<int64_t>(args.on_device_size_in_bytes);
}

absl::StatusOr<EventPtr> PjrtBuffer::ToHost(
    absl::Span<std::byte> destination) const {
  MW_RETURN_IF_ERROR(CheckAlive());
  MW_RETURN_IF_ERROR(CheckDestination(*this, destination.size()));
  // With a null destination, PJRT would only return the size.
  static std::byte nothing{};
  auto args = NewPjrtArgs<PJRT_Buffer_ToHostBuffer_Args>();
  args.src = handle();
  // No host_layout: all our buffers are row-major, and XLA's CPU client ignores
  // it.
  args.dst = destination.empty() ? &nothing : destination.data();
  args.dst_size = destination.size();
  MW_RETURN_IF_ERROR(
      session_->api().Call(MW_PJRT(PJRT_Buffer_ToHostBuffer), args));
  return std::make_unique<PjrtEvent>(session_, args.event);
}

absl::StatusOr<EventPtr> PjrtBuffer::Ready() const {
  MW_RETURN_IF_ERROR(CheckAlive());
  auto args = NewPjrtArgs<PJRT_Buffer_ReadyEvent_Args>();
  args.buffer = handle();
  MW_RETURN_IF_ERROR(
      session_->api().Call(MW_PJRT(PJRT_Buffer_ReadyEvent), args));
  return std::make_unique<PjrtEvent>(session_, args.event);
}

absl::StatusOr<BufferPtr> PjrtBuffer::CopyTo(const Device& device) const {
  MW_RETURN_IF_ERROR(CheckAlive());
  const PjrtDevice* target = session_->Find(device);
  if (target == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(
        "device ", device.id(), " belongs to another client than the buffer"));
  }
  if (target == device_) return CopyThroughHost(*target);
  auto args = NewPjrtArgs<PJRT_Buffer_CopyToDevice_Args>();
  args.buffer = handle();
  args.dst_device = target->handle();
  MW_RETURN_IF_ERROR(
      session_->api().Call(MW_PJRT(PJRT_Buffer_CopyToDevice), args));
  return std::make_unique<PjrtBuffer>(session_, session_->Own(args.dst_buffer),
                                      target, shape_);
}

// PJRT copies only between different devices.
absl::StatusOr<BufferPtr> PjrtBuffer::CopyThroughHost(
    const PjrtDevice& device) const {
  std::vector<std::byte> bytes(shape_->host_bytes());
  MW_RETURN_IF_ERROR(ReadToHost(absl::MakeSpan(bytes)));
  return SendToDevice(session_, {.bytes = bytes, .shape = *shape_}, device);
}

void PjrtBuffer::Delete() {
  auto args = NewPjrtArgs<PJRT_Buffer_Delete_Args>();
  args.buffer = handle();
  session_->api().Call(MW_PJRT(PJRT_Buffer_Delete), args).IgnoreError();
}

bool PjrtBuffer::IsDeleted() const {
  auto args = NewPjrtArgs<PJRT_Buffer_IsDeleted_Args>();
  args.buffer = handle();
  return !session_->api().Call(MW_PJRT(PJRT_Buffer_IsDeleted), args).ok() ||
         args.is_deleted;
}

absl::StatusOr<uintptr_t> PjrtBuffer::Address() const {
  MW_RETURN_IF_ERROR(CheckAlive());
  auto args = NewPjrtArgs<PJRT_Buffer_UnsafePointer_Args>();
  args.buffer = handle();
  MW_RETURN_IF_ERROR(
      session_->api().Call(MW_PJRT(PJRT_Buffer_UnsafePointer), args));
  return args.buffer_pointer;
}

}  // namespace meshwright
