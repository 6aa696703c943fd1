// Checks of arguments before they are passed to a device. Since XLA aborts the
// process on some of these mistakes, every engine calls these first.
//
//   CheckArguments(signature, devices, arguments, options);
//   // INVALID_ARGUMENT: argument 1 on device 0 is f32[3], the program takes
//   // f32[2]
#ifndef MESHWRIGHT_ENGINE_CHECK_USE_H_
#define MESHWRIGHT_ENGINE_CHECK_USE_H_

#include <cstddef>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "meshwright/engine/buffer.h"
#include "meshwright/engine/client.h"
#include "meshwright/engine/executable.h"

namespace meshwright {

// kInvalidArgument unless there is one list per device, with a buffer on that
// very device for every parameter, of the parameter's shape, and no donated
// buffer twice; kFailedPrecondition for a deleted one.
absl::Status CheckArguments(
    const ProgramSignature& signature, absl::Span<const Device* const> devices,
    absl::Span<const absl::Span<Buffer* const>> arguments,
    const ExecuteOptions& options);

// kInvalidArgument unless the shape is that of an array and the number of bytes
// is right.
absl::Status CheckHostArray(const HostArray& array);

// kInvalidArgument unless `bytes` is the array's size in host memory.
absl::Status CheckDestination(const Buffer& buffer, size_t bytes);

// kInvalidArgument unless the counts are at least 1 and there is one known and
// unique device for each replica and partition. `known`: global ids.
absl::Status CheckCompileOptions(const CompileOptions& options,
                                 absl::Span<const int> known);

}  // namespace meshwright

#endif  // MESHWRIGHT_ENGINE_CHECK_USE_H_
