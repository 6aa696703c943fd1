// Test support: programs on virtual CPU devices, values in and out.
#ifndef MESHWRIGHT_TESTS_RULES_DEVICE_RUN_H_
#define MESHWRIGHT_TESTS_RULES_DEVICE_RUN_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/engine/client.h"
#include "meshwright/hlo/literal.h"
#include "meshwright/hlo/module.h"

namespace meshwright {

// One process-wide client with this many virtual CPU devices.
inline constexpr int kOracleDevices = 8;
absl::StatusOr<Client*> OracleClient();

// For as many replicas, compiled quickly, collectives as they are written.
absl::StatusOr<std::unique_ptr<Executable>> CompileForDevices(
    const Module& module, int devices);

absl::StatusOr<BufferPtr> Upload(const Literal& value, const Device& device);
absl::StatusOr<Literal> Download(const Buffer& buffer);

// Runs `module`, which must pass Verify, on the first devices; arguments and
// outputs by device.
absl::StatusOr<std::vector<std::vector<Literal>>> RunOnDevices(
    const Module& module, const std::vector<std::vector<Literal>>& arguments);

}  // namespace meshwright

#endif  // MESHWRIGHT_TESTS_RULES_DEVICE_RUN_H_
