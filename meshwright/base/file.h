// Reads and writes whole files.
//
//   MW_ASSIGN_OR_RETURN(const std::string bytes, ReadFile("step.hlo.pb"));
//   MW_RETURN_IF_ERROR(WriteFileAtomically("plan.json", json));
#ifndef MESHWRIGHT_BASE_FILE_H_
#define MESHWRIGHT_BASE_FILE_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace meshwright {

inline constexpr int64_t kMaxFileBytes = int64_t{1} << 42;  // 4 TiB

// The bytes of a regular file or pipe. Fails with one line that begins with
// the path: kNotFound; kInvalidArgument for a folder, a device or more than
// `max_bytes`; kPermissionDenied; kResourceExhausted when memory is short.
absl::StatusOr<std::string> ReadFile(const std::string& path,
                                     int64_t max_bytes = kMaxFileBytes);

// Writes the pieces consecutively to a temporary file beside `path`, flushes it
// to disk and renames it: a reader sees the old file or the new one, never a
// part. On failure, and when the process is ended (process_end.h), nothing is
// left behind. Symbolic links are followed and kept; an existing file keeps its
// permissions. Anything but a regular file (a pipe, a device, /dev/stdout) is
// written to directly. output_target.h checks a path in advance.
absl::Status WriteFileAtomically(const std::string& path,
                                 absl::Span<const absl::string_view> pieces);
absl::Status WriteFileAtomically(const std::string& path,
                                 absl::string_view bytes);

}  // namespace meshwright

#endif  // MESHWRIGHT_BASE_FILE_H_
