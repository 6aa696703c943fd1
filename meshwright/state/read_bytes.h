// Callbacks by which readers of file formats access bytes.
#ifndef MESHWRIGHT_STATE_READ_BYTES_H_
#define MESHWRIGHT_STATE_READ_BYTES_H_

#include <cstddef>
#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"

namespace meshwright {

// Reads the next `size` bytes of the file to `out`, or fails.
using ReadBytes = absl::FunctionRef<absl::Status(char* out, size_t size)>;
// The same at a given `offset`, which is within the file.
using ReadBytesAt =
    absl::FunctionRef<absl::Status(int64_t offset, char* out, size_t size)>;

}  // namespace meshwright

#endif  // MESHWRIGHT_STATE_READ_BYTES_H_
