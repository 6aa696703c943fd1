// manifest.json: what a checkpoint contains, and where.
//
//   {"format": "meshwright-checkpoint", "version": 1, "program": "0.5.0",
//    "step": 100, "block_bytes": 1048576,
//    "files": [{"name": "shard-00000.safetensors", "bytes": 4242,
//               "header_bytes": 146, "header_crc32c": "90ab12cd"}],
//    "tensors": [{"name": "w", "dtype": "f32", "shape": [32, 32],
//                 "regions": [{"file": 0, "offset": 146, "start": [0, 0],
//                              "limit": [32, 32], "crc32c": "12ab34cd"}]}],
//    "extra": {...}, "crc32c": "01234567"}
//
// A region has a checksum for every block of its bytes; the last block may be
// shorter. The manifest's own checksum covers everything before it.
#ifndef MESHWRIGHT_CHECKPOINT_MANIFEST_H_
#define MESHWRIGHT_CHECKPOINT_MANIFEST_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "meshwright/base/element_type.h"
#include "meshwright/checkpoint/tensor_region.h"

namespace meshwright {

inline constexpr int64_t kCheckpointVersion = 1;
inline constexpr int64_t kCheckpointBlockBytes = int64_t{1} << 20;
inline constexpr char kCheckpointFormat[] = "meshwright-checkpoint";
inline constexpr char kManifestName[] = "manifest.json";

// A tensor's name, type and shape.
struct TensorInfo {
  std::string name;
  ElementType type = ElementType::kInvalid;
  std::vector<int64_t> dimensions;

  int64_t bytes() const;
  std::string ShapeText() const;  // "f32[2,3]"
  bool operator==(const TensorInfo&) const = default;
};

struct SavedFile {
  std::string name;  // Without a folder.
  int64_t bytes = 0;
  int64_t header_bytes = 0;  // Before the first tensor.
  uint32_t header_crc = 0;

  bool operator==(const SavedFile&) const = default;
};

// Row-major and contiguous.
struct SavedRegion {
  TensorRegion region;
  int64_t file = 0;
  int64_t offset = 0;          // In the file.
  std::vector<uint32_t> crcs;  // By block.

  bool operator==(const SavedRegion&) const = default;
};

struct SavedTensor {
  TensorInfo info;
  std::vector<SavedRegion> regions;

  bool operator==(const SavedTensor&) const = default;
};

struct Manifest {
  std::string program;  // The version of the program that wrote it.
  int64_t step = 0;
  int64_t block_bytes = kCheckpointBlockBytes;
  std::vector<SavedFile> files;
  std::vector<SavedTensor> tensors;
  std::string extra = "{}";  // A JSON object.

  // Null if there is none of that name.
  const SavedTensor* Find(absl::string_view name) const;
  int64_t bytes() const;  // Of all tensors.
  bool operator==(const Manifest&) const = default;
};

inline int64_t BlockCount(int64_t bytes, int64_t block_bytes) {
  return (bytes + block_bytes - 1) / block_bytes;
}

// kInvalidArgument if `extra` is not a JSON object or a name is not UTF-8.
absl::StatusOr<std::string> WriteManifest(const Manifest& manifest);
// kInvalidArgument if it is malformed, damaged, of another version, or
// inconsistent. On success regions lie within files, and cover each tensor
// exactly once.
absl::StatusOr<Manifest> ParseManifest(absl::string_view text);

// Checks that the regions cover the tensor exactly once.
absl::Status CheckCover(const SavedTensor& tensor);

}  // namespace meshwright

#endif  // MESHWRIGHT_CHECKPOINT_MANIFEST_H_
