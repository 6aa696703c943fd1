#include "meshwright/engine/pjrt_session.h"

#include <algorithm>
#include <utility>

#include "meshwright/base/status_macros.h"

namespace meshwright {
namespace {

absl::StatusOr<int> ReadId(const PjrtApi& api,
                           PJRT_DeviceDescription* description) {
  auto args = NewPjrtArgs<PJRT_DeviceDescription_Id_Args>();
  args.device_description = description;
  MW_RETURN_IF_ERROR(api.Call(MW_PJRT(PJRT_DeviceDescription_Id), args));
  return args.id;
}

absl::StatusOr<int> ReadProcess(const PjrtApi& api,
                                PJRT_DeviceDescription* description) {
  auto args = NewPjrtArgs<PJRT_DeviceDescription_ProcessIndex_Args>();
  args.device_description = description;
  MW_RETURN_IF_ERROR(
      api.Call(MW_PJRT(PJRT_DeviceDescription_ProcessIndex), args));
  return args.process_index;
}

absl::StatusOr<PJRT_DeviceDescription*> Describe(const PjrtApi& api,
                                                 PJRT_Device* device) {
  auto args = NewPjrtArgs<PJRT_Device_GetDescription_Args>();
  args.device = device;
  MW_RETURN_IF_ERROR(api.Call(MW_PJRT(PJRT_Device_GetDescription), args));
  return args.device_description;
}

absl::StatusOr<DeviceInfo> ReadInfo(const PjrtApi& api, PJRT_Device* device) {
  DeviceInfo info;
  MW_ASSIGN_OR_RETURN(PJRT_DeviceDescription * description,
                      Describe(api, device));
  MW_ASSIGN_OR_RETURN(info.id, ReadId(api, description));

  MW_ASSIGN_OR_RETURN(info.process_index, ReadProcess(api, description));

  auto hardware = NewPjrtArgs<PJRT_Device_LocalHardwareId_Args>();
  hardware.device = device;
  if (api.Call(MW_PJRT(PJRT_Device_LocalHardwareId), hardware).ok()) {
    info.hardware_id = hardware.local_hardware_id;
  }

  auto kind = NewPjrtArgs<PJRT_DeviceDescription_Kind_Args>();
  kind.device_description = description;
  MW_RETURN_IF_ERROR(api.Call(MW_PJRT(PJRT_DeviceDescription_Kind), kind));
  info.kind.assign(kind.device_kind, kind.device_kind_size);

  auto text = NewPjrtArgs<PJRT_DeviceDescription_ToString_Args>();
  text.device_description = description;
  MW_RETURN_IF_ERROR(api.Call(MW_PJRT(PJRT_DeviceDescription_ToString), text));
  info.description.assign(text.to_string, text.to_string_size);
  return info;
}

}  // namespace

absl::StatusOr<DeviceMemory> PjrtDevice::Memory() const {
  auto args = NewPjrtArgs<PJRT_Device_MemoryStats_Args>();
  args.device = handle_;
  MW_RETURN_IF_ERROR(api_->Call(MW_PJRT(PJRT_Device_MemoryStats), args));
  DeviceMemory memory;
  memory.bytes_in_use = args.bytes_in_use;
  if (args.peak_bytes_in_use_is_set) {
    memory.peak_bytes_in_use = args.peak_bytes_in_use;
  }
  if (args.bytes_limit_is_set) memory.limit_bytes = args.bytes_limit;
  return memory;
}

absl::StatusOr<std::shared_ptr<PjrtSession>> PjrtSession::Create(
    const PjrtApi* api, PjrtHandle<PJRT_Client> client,
    std::unique_ptr<PjrtKeyValues> key_values) {
  std::shared_ptr<PjrtSession> session(
      new PjrtSession(api, std::move(client), std::move(key_values)));
  MW_RETURN_IF_ERROR(session->ReadPlatform());
  MW_RETURN_IF_ERROR(session->ReadDevices());
  return session;
}

absl::Status PjrtSession::ReadPlatform() {
  auto name = NewPjrtArgs<PJRT_Client_PlatformName_Args>();
  name.client = client();
  MW_RETURN_IF_ERROR(api_->Call(MW_PJRT(PJRT_Client_PlatformName), name));
  platform_name_.assign(name.platform_name, name.platform_name_size);

  auto version = NewPjrtArgs<PJRT_Client_PlatformVersion_Args>();
  version.client = client();
  MW_RETURN_IF_ERROR(api_->Call(MW_PJRT(PJRT_Client_PlatformVersion), version));
  platform_version_.assign(version.platform_version,
                           version.platform_version_size);
  return absl::OkStatus();
}

absl::Status PjrtSession::ReadDevices() {
  auto local = NewPjrtArgs<PJRT_Client_AddressableDevices_Args>();
  local.client = client();
  MW_RETURN_IF_ERROR(
      api_->Call(MW_PJRT(PJRT_Client_AddressableDevices), local));
  for (size_t i = 0; i < local.num_addressable_devices; ++i) {
    PJRT_Device* handle = local.addressable_devices[i];
    MW_ASSIGN_OR_RETURN(DeviceInfo info, ReadInfo(*api_, handle));
    owned_devices_.push_back(
        std::make_unique<PjrtDevice>(api_, handle, std::move(info)));
    devices_.push_back(owned_devices_.back().get());
  }

  auto global = NewPjrtArgs<PJRT_Client_Devices_Args>();
  global.client = client();
  MW_RETURN_IF_ERROR(api_->Call(MW_PJRT(PJRT_Client_Devices), global));
  for (size_t i = 0; i < global.num_devices; ++i) {
    MW_ASSIGN_OR_RETURN(PJRT_DeviceDescription * description,
                        Describe(*api_, global.devices[i]));
    DevicePlace& place = all_devices_.emplace_back();
    MW_ASSIGN_OR_RETURN(place.id, ReadId(*api_, description));
    MW_ASSIGN_OR_RETURN(place.process_index, ReadProcess(*api_, description));
  }
  std::ranges::sort(all_devices_, {}, &DevicePlace::id);
  for (const DevicePlace& place : all_devices_) global_ids_.push_back(place.id);
  return absl::OkStatus();
}

const PjrtDevice* PjrtSession::Find(const Device& device) const {
  for (const auto& mine : owned_devices_) {
    if (mine.get() == &device) return mine.get();
  }
  return nullptr;
}

const PjrtDevice* PjrtSession::Find(const PJRT_Device* handle) const {
  for (const auto& mine : owned_devices_) {
    if (mine->handle() == handle) return mine.get();
  }
  return nullptr;
}

absl::Status PjrtEvent::Await() {
  auto args = NewPjrtArgs<PJRT_Event_Await_Args>();
  args.event = handle_.get();
  return session_->api().Call(MW_PJRT(PJRT_Event_Await), args);
}

bool PjrtEvent::IsReady() {
  auto args = NewPjrtArgs<PJRT_Event_IsReady_Args>();
  args.event = handle_.get();
  // If the event cannot tell, its Await() fails immediately.
  return !session_->api().Call(MW_PJRT(PJRT_Event_IsReady), args).ok() ||
         args.is_ready;
}

}  // namespace meshwright
