// The files of a checkpoint: plain safetensors, an entry for each region.
//
//   w f32[8,4] in two halves, in one file each: "w[0:4,0:4]", "w[4:8,0:4]";
//   in one region: "w"
//
// The files are self-contained: "__metadata__" has the format, and the tensor
// and region of each entry. Types that safetensors lacks are stored as u8, with
// one more dimension at the end if they have several bytes.
#ifndef MESHWRIGHT_CHECKPOINT_SHARD_FILE_H_
#define MESHWRIGHT_CHECKPOINT_SHARD_FILE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "meshwright/checkpoint/manifest.h"
#include "meshwright/checkpoint/tensor_region.h"

namespace meshwright {

// "shard-00007.safetensors"
std::string ShardFileName(int64_t number);

// A file to be written.
struct FilePlan {
  struct Entry {
    int64_t tensor = 0;  // Index into a list of tensors.
    TensorRegion region;
  };
  std::string name;
  std::vector<Entry> entries;  // In the order of their bytes.
};

// The header's bytes, and the offset of each entry in the file.
struct ShardHeader {
  std::string bytes;
  std::vector<int64_t> offsets;
  int64_t file_bytes = 0;
};
// kInvalidArgument if a name is not UTF-8.
absl::StatusOr<ShardHeader> MakeShardHeader(
    absl::Span<const TensorInfo> tensors, const FilePlan& plan);

// A host array that contains a region.
struct HostBox {
  const char* data = nullptr;
  BoxInArray box;
  std::shared_ptr<const void> owner;  // Keeps the data alive.
};

struct WrittenFile {
  int64_t bytes = 0;
  int64_t header_bytes = 0;
  uint32_t header_crc = 0;
  std::vector<std::vector<uint32_t>> crcs;  // By entry and block.
};

// Writes the file and flushes it to disk; fetches one entry after another.
using FetchRegion =
    std::function<absl::StatusOr<HostBox>(const FilePlan::Entry& entry)>;
absl::StatusOr<WrittenFile> WriteShardFile(const std::string& folder,
                                           absl::Span<const TensorInfo> tensors,
                                           const FilePlan& plan,
                                           const FetchRegion& fetch);

// For files that were all written. `written` is by file.
absl::StatusOr<Manifest> MakeManifest(absl::Span<const TensorInfo> tensors,
                                      absl::Span<const FilePlan> files,
                                      absl::Span<const WrittenFile> written);

}  // namespace meshwright

#endif  // MESHWRIGHT_CHECKPOINT_SHARD_FILE_H_
