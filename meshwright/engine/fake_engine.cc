#include "meshwright/engine/fake_engine.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/engine/check_use.h"
#include "meshwright/engine/fake_buffer.h"
#include "meshwright/engine/fake_executable.h"
#include "meshwright/engine/fake_session.h"

namespace meshwright {

FakeClient::FakeClient(const FakeOptions& options)
    : session_(std::make_shared<FakeSession>(options)) {}

void FakeClient::Register(const std::string& name, FakeFunction function) {
  session_->Register(name, std::move(function));
}

void FakeClient::Fail(const FakeFault& fault) { session_->Fail(fault); }

const std::string& FakeClient::platform_name() const {
  static const auto& name = *new std::string("fake");
  return name;
}

const std::string& FakeClient::platform_version() const {
  return platform_name();
}

absl::Span<const Device* const> FakeClient::devices() const {
  return session_->devices();
}

absl::Span<const DevicePlace> FakeClient::all_devices() const {
  return session_->all_devices();
}

absl::StatusOr<BufferPtr> FakeClient::FromHost(const HostArray& array,
                                               const Device& device) {
  MW_RETURN_IF_ERROR(CheckHostArray(array));
  const FakeDevice* mine = session_->Find(device);
  if (mine == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("device ", device.id(), " belongs to another client"));
  }
  MW_RETURN_IF_ERROR(session_->Reach(FakeFault::Point::kFromHost));
  MW_ASSIGN_OR_RETURN(FakeStoragePtr storage,
                      mine->Allocate(array.shape.host_bytes()));
  std::copy(array.bytes.begin(), array.bytes.end(), storage->bytes.begin());
  return std::make_unique<FakeBuffer>(session_, std::move(storage), mine,
                                      array.shape);
}

absl::StatusOr<std::unique_ptr<Executable>> FakeClient::Compile(
    const Program& program, const CompileOptions& options) {
  std::vector<int> known;
  for (const DevicePlace& place : all_devices()) known.push_back(place.id);
  MW_RETURN_IF_ERROR(CheckCompileOptions(options, known));
  if (program.format != "fake") {
    return absl::InvalidArgumentError(
        absl::StrCat("the fake engine takes programs of format \"fake\", got ",
                     program.format));
  }
  MW_RETURN_IF_ERROR(session_->Reach(FakeFault::Point::kCompile));
  MW_ASSIGN_OR_RETURN(auto function, session_->Lookup(program.code));
  const int count = options.num_replicas * options.num_partitions;
  std::vector<const Device*> used;
  for (int i = 0; i < count; ++i) {
    const int id = options.device_ids.empty() ? i : options.device_ids[i];
    for (const Device* device : devices()) {
      if (device->id() == id) used.push_back(device);
    }
  }
  return std::make_unique<FakeExecutable>(session_, program.code,
                                          std::move(function), std::move(used));
}

}  // namespace meshwright
