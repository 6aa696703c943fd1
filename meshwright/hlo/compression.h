// Plain, gzip and zstd data, distinguished by their first bytes.
#ifndef MESHWRIGHT_HLO_COMPRESSION_H_
#define MESHWRIGHT_HLO_COMPRESSION_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace meshwright {

enum class Compression { kNone, kGzip, kZstd };

Compression DetectCompression(absl::string_view bytes);
// By the ending of a file's name: ".gz", ".zst", anything else is plain.
Compression CompressionForPath(absl::string_view path);

// The limit of protobuf: 2 GiB less one byte.
inline constexpr int64_t kMaxModuleBytes = (int64_t{1} << 31) - 1;

// Decompresses gzip or zstd. kInvalidArgument for damaged or truncated data and
// for results above `max_bytes`. Requires: bytes are compressed.
absl::StatusOr<std::string> Decompress(absl::string_view bytes,
                                       int64_t max_bytes = kMaxModuleBytes);
std::string Compress(absl::string_view bytes, Compression compression);

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_COMPRESSION_H_
