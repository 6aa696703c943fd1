#include "meshwright/engine/fake_session.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "meshwright/base/check.h"

namespace meshwright {

FakeSession::FakeSession(const FakeOptions& options) {
  MW_CHECK(options.devices >= 1) << options.devices;
  for (int id = 0; id < options.devices * options.processes; ++id) {
    const int process = id / options.devices;
    all_devices_.push_back({.id = id, .process_index = process});
    if (process != options.process) continue;
    owned_devices_.push_back(
        std::make_unique<FakeDevice>(id, process, options.memory_limit_bytes));
    devices_.push_back(owned_devices_.back().get());
  }
}

const FakeDevice* FakeSession::Find(const Device& device) const {
  for (const auto& mine : owned_devices_) {
    if (mine.get() == &device) return mine.get();
  }
  return nullptr;
}

void FakeSession::Register(const std::string& name, FakeFunction function) {
  const std::lock_guard lock(mutex_);
  functions_[name] = std::make_shared<const FakeFunction>(std::move(function));
}

absl::StatusOr<std::shared_ptr<const FakeFunction>> FakeSession::Lookup(
    const std::string& name) const {
  const std::lock_guard lock(mutex_);
  const auto found = functions_.find(name);
  if (found == functions_.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("no function \"", name, "\" was registered"));
  }
  return found->second;
}

absl::Status FakeSession::Reach(FakeFault::Point point) {
  const std::lock_guard lock(mutex_);
  absl::Status status;
  for (auto fault = faults_.begin(); fault != faults_.end();) {
    if (fault->point == point && --fault->nth == 0) {
      status.Update(fault->status);
      fault = faults_.erase(fault);
    } else {
      ++fault;
    }
  }
  return status;
}

void FakeSession::Fail(const FakeFault& fault) {
  MW_CHECK(fault.nth >= 1 && !fault.status.ok());
  const std::lock_guard lock(mutex_);
  faults_.push_back(fault);
}

}  // namespace meshwright
