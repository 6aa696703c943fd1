// What all objects of one PJRT client share: the function table, the client's
// handle and its devices. The last of them to go closes the client.
//
//   PjrtClient ──┐
//   PjrtBuffer ──┼─> shared_ptr<PjrtSession> ──> PJRT_Client*
//   PjrtEvent  ──┘
#ifndef MESHWRIGHT_ENGINE_PJRT_SESSION_H_
#define MESHWRIGHT_ENGINE_PJRT_SESSION_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "meshwright/engine/device.h"
#include "meshwright/engine/event.h"
#include "meshwright/engine/pjrt_api.h"
#include "meshwright/engine/pjrt_key_values.h"

namespace meshwright {

class PjrtDevice final : public Device {
 public:
  PjrtDevice(const PjrtApi* api, PJRT_Device* handle, DeviceInfo info)
      : Device(std::move(info)), api_(api), handle_(handle) {}

  absl::StatusOr<DeviceMemory> Memory() const override;
  PJRT_Device* handle() const { return handle_; }

 private:
  const PjrtApi* api_;
  PJRT_Device* handle_;
};

class PjrtSession {
 public:
  // Takes over `client` and what it was created with (null if it is alone),
  // asks it for its name and devices.
  static absl::StatusOr<std::shared_ptr<PjrtSession>> Create(
      const PjrtApi* api, PjrtHandle<PJRT_Client> client,
      std::unique_ptr<PjrtKeyValues> key_values);

  const PjrtApi& api() const { return *api_; }
  PJRT_Client* client() const { return client_.get(); }
  template <typename T>
  PjrtHandle<T> Own(T* handle) const {
    return PjrtHandle<T>(handle, PjrtDelete{api_});
  }

  const std::string& platform_name() const { return platform_name_; }
  const std::string& platform_version() const { return platform_version_; }
  absl::Span<const Device* const> devices() const { return devices_; }
  absl::Span<const DevicePlace> all_devices() const { return all_devices_; }
  absl::Span<const int> global_ids() const { return global_ids_; }

  // Null unless the device is one of this session's.
  const PjrtDevice* Find(const Device& device) const;
  const PjrtDevice* Find(const PJRT_Device* handle) const;

 private:
  PjrtSession(const PjrtApi* api, PjrtHandle<PJRT_Client> client,
              std::unique_ptr<PjrtKeyValues> key_values)
      : api_(api),
        key_values_(std::move(key_values)),
        client_(std::move(client)) {}
  absl::Status ReadPlatform();
  absl::Status ReadDevices();

  const PjrtApi* api_;
  std::unique_ptr<PjrtKeyValues> key_values_;  // Outlives the client.
  PjrtHandle<PJRT_Client> client_;
  std::string platform_name_;
  std::string platform_version_;
  std::vector<std::unique_ptr<PjrtDevice>> owned_devices_;
  std::vector<const Device*> devices_;
  std::vector<DevicePlace> all_devices_;
  std::vector<int> global_ids_;  // Of those.
};

class PjrtEvent final : public Event {
 public:
  PjrtEvent(std::shared_ptr<const PjrtSession> session, PJRT_Event* handle)
      : session_(std::move(session)), handle_(session_->Own(handle)) {}

  absl::Status Await() override;
  bool IsReady() override;

 private:
  std::shared_ptr<const PjrtSession> session_;
  PjrtHandle<PJRT_Event> handle_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_ENGINE_PJRT_SESSION_H_
