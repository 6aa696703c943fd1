// State shared by the objects of one FakeClient: devices, functions, faults and
// the stream.
#ifndef MESHWRIGHT_ENGINE_FAKE_SESSION_H_
#define MESHWRIGHT_ENGINE_FAKE_SESSION_H_

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "meshwright/engine/fake_device.h"
#include "meshwright/engine/fake_engine.h"
#include "meshwright/engine/fake_stream.h"

namespace meshwright {

class FakeSession {
 public:
  explicit FakeSession(const FakeOptions& options);

  absl::Span<const Device* const> devices() const { return devices_; }
  absl::Span<const DevicePlace> all_devices() const { return all_devices_; }
  FakeStream& stream() { return stream_; }

  // Null unless the device is one of this session's.
  const FakeDevice* Find(const Device& device) const;

  void Register(const std::string& name, FakeFunction function);
  absl::StatusOr<std::shared_ptr<const FakeFunction>> Lookup(
      const std::string& name) const;

  // Counts a use of `point`; returns the injected error, or OK.
  absl::Status Reach(FakeFault::Point point);
  void Fail(const FakeFault& fault);

 private:
  std::vector<std::unique_ptr<FakeDevice>> owned_devices_;
  std::vector<const Device*> devices_;
  std::vector<DevicePlace> all_devices_;
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const FakeFunction>> functions_;
  std::vector<FakeFault> faults_;
  FakeStream stream_;  // Destroyed first, after finishing its work.
};

}  // namespace meshwright

#endif  // MESHWRIGHT_ENGINE_FAKE_SESSION_H_
