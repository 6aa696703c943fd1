// How readers of formats get at the bytes of a file.
#ifndef MESHWRIGHT_STATE_READ_BYTES_H_
#define MESHWRIGHT_STATE_READ_BYTES_H_

#include <cstddef>
#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"

namespace meshwright {

// Fills `size` bytes at `out` with what comes next in the file, or fails.
using ReadBytes = absl::FunctionRef<absl::Status(char* out, size_t size)>;
// ... with what the file has at `offset`, which is in it.
using ReadBytesAt =
    absl::FunctionRef<absl::Status(int64_t offset, char* out, size_t size)>;

}  // namespace meshwright

#endif  // MESHWRIGHT_STATE_READ_BYTES_H_
