// An engine in host memory for tests: programs are C++ functions, devices are
// counters, and failures can be injected.
//
//   FakeClient client({.devices = 2, .memory_limit_bytes = 1 << 20});
//   client.Register("negate", {.signature = {...}, .run = Negate});
//   client.Fail({FakeFault::Point::kExecute, 3, absl::UnavailableError("")});
//   auto negate = client.Compile({.format = "fake", .code = "negate"}, {});
//
// Work runs asynchronously, in order, on one thread of the client. The error of
// a failed computation is propagated to whatever uses its buffer.
#ifndef MESHWRIGHT_ENGINE_FAKE_ENGINE_H_
#define MESHWRIGHT_ENGINE_FAKE_ENGINE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "meshwright/engine/client.h"

namespace meshwright {

class FakeSession;

// One execution on all devices at once, so that a function can implement
// collectives: inputs[d][p] and outputs[d][o] are the dense arrays on device d.
// Outputs never overlap inputs, donated or not.
struct FakeCall {
  std::vector<std::vector<absl::Span<const std::byte>>> inputs = {};
  std::vector<std::vector<absl::Span<std::byte>>> outputs = {};
};

struct FakeFunction {
  ProgramSignature signature = {};
  std::function<absl::Status(const FakeCall&)> run = {};
  ProgramCost cost = {};
};

// Makes the nth use of a point from now, counted from 1, fail.
struct FakeFault {
  enum class Point {
    kCompile,
    kFromHost,
    kExecute,  // Execute() itself returns the error.
    kRun,      // The events and outputs of the execution carry it.
  };
  Point point = Point::kExecute;
  int nth = 1;
  absl::Status status = {};
};

struct FakeOptions {
  int devices = 1;
  // The index of this process, and the number of processes with this many
  // devices each; only its own devices are addressable.
  int process = 0;
  int processes = 1;
  // Per device. kResourceExhausted when exceeded.
  int64_t memory_limit_bytes = std::numeric_limits<int64_t>::max();
};

class FakeClient final : public Client {
 public:
  explicit FakeClient(const FakeOptions& options);

  // Replaces a function of the same name for programs compiled later.
  void Register(const std::string& name, FakeFunction function);
  void Fail(const FakeFault& fault);

  const std::string& platform_name() const override;
  const std::string& platform_version() const override;
  absl::Span<const Device* const> devices() const override;
  absl::Span<const DevicePlace> all_devices() const override;
  absl::StatusOr<BufferPtr> FromHost(const HostArray& array,
                                     const Device& device) override;
  absl::StatusOr<std::unique_ptr<Executable>> Load(
      const std::string&, const CompileOptions&) override {
    return absl::UnimplementedError("the fake engine loads no programs");
  }
  absl::StatusOr<std::unique_ptr<Executable>> Compile(
      const Program& program, const CompileOptions& options) override;

 private:
  std::shared_ptr<FakeSession> session_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_ENGINE_FAKE_ENGINE_H_
