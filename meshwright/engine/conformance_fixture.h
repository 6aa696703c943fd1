// The fixture of the conformance suite: a client of the engine under test, and
// short ways to send, compile, run and fetch.
#ifndef MESHWRIGHT_ENGINE_CONFORMANCE_FIXTURE_H_
#define MESHWRIGHT_ENGINE_CONFORMANCE_FIXTURE_H_

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "meshwright/engine/client.h"
#include "meshwright/engine/conformance_engines.h"

namespace meshwright {

inline constexpr auto kBad = absl::StatusCode::kInvalidArgument;

class ConformanceTest : public testing::TestWithParam<EngineUnderTest> {
 protected:
  // Replaces the client. False if the engine has too few devices, which only
  // one named by MESHWRIGHT_TEST_PLUGIN may.
  [[nodiscard]] bool Open(int devices) {
    client_.reset();
    auto client = GetParam().create(devices);
    EXPECT_TRUE(client.ok()) << client.status();
    if (!client.ok()) return false;
    client_ = *std::move(client);
    return static_cast<int>(client_->devices().size()) >= devices;
  }
  void SetUp() override { ASSERT_TRUE(Open(1)); }

  const Device& device(int i = 0) { return *client_->devices()[i]; }

  template <typename T>
  BufferPtr Send(ElementType type, std::vector<int64_t> dimensions,
                 const std::vector<T>& values, int on = 0) {
    auto buffer = client_->FromHost(
        {.bytes = AsBytes(values), .shape = {type, std::move(dimensions)}},
        device(on));
    EXPECT_TRUE(buffer.ok()) << buffer.status();
    return buffer.ok() ? *std::move(buffer) : nullptr;
  }
  BufferPtr Floats(std::vector<int64_t> dimensions,
                   const std::vector<float>& values, int on = 0) {
    return Send(ElementType::kF32, std::move(dimensions), values, on);
  }

  std::unique_ptr<Executable> Compile(const std::string& name,
                                      const CompileOptions& options = {}) {
    auto executable = client_->Compile(GetParam().program(name), options);
    EXPECT_TRUE(executable.ok()) << executable.status();
    return executable.ok() ? *std::move(executable) : nullptr;
  }

  template <typename T = float>
  static std::vector<T> Fetch(const Buffer& buffer) {
    std::vector<T> values(buffer.shape().element_count());
    const absl::Status status = buffer.ReadToHost(AsWritableBytes(values));
    EXPECT_TRUE(status.ok()) << status;
    return values;
  }

  static absl::StatusOr<Execution> Start(Executable& executable,
                                         const std::vector<Buffer*>& arguments,
                                         const ExecuteOptions& options = {}) {
    return executable.ExecuteSingle(arguments, options);
  }

  // The outputs on the only device.
  static std::vector<BufferPtr> Outputs(Executable& executable,
                                        const std::vector<Buffer*>& arguments,
                                        const ExecuteOptions& options = {}) {
    auto execution = Start(executable, arguments, options);
    EXPECT_TRUE(execution.ok()) << execution.status();
    return execution.ok() ? std::move(execution->outputs[0])
                          : std::vector<BufferPtr>(2);
  }

  // One argument on each device.
  static absl::StatusOr<Execution> StartOnAll(
      Executable& executable, const std::vector<BufferPtr>& arguments) {
    std::vector<Buffer*> raw;
    for (const BufferPtr& argument : arguments) raw.push_back(argument.get());
    std::vector<absl::Span<Buffer* const>> lists;
    for (const auto& each : raw) lists.emplace_back(&each, 1);
    return executable.Execute(lists);
  }

  std::unique_ptr<Client> client_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_ENGINE_CONFORMANCE_FIXTURE_H_
