// The files of a checkpoint: plain safetensors, an entry for each region.
//
//   w f32[8,4] in two halves, in one file each: "w[0:4,0:4]", "w[4:8,0:4]";
//   in one region: "w"
//
// What other readers need is in the file: "__metadata__" says the format and of
// which tensor an entry is a region. Types that safetensors lacks are u8, with
// a last dimension of their bytes where these are several.
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

// A file before it is written.
struct FilePlan {
  struct Entry {
    int64_t tensor = 0;  // In a list of them.
    TensorRegion region;
  };
  std::string name;
  std::vector<Entry> entries;  // In the order of their bytes.
};

// The bytes before the first tensor, and where in the file each entry is.
struct ShardHeader {
  std::string bytes;
  std::vector<int64_t> offsets;
  int64_t file_bytes = 0;
};
// kInvalidArgument when a name is not UTF-8. `metadata` goes along.
absl::StatusOr<ShardHeader> MakeShardHeader(
    absl::Span<const TensorInfo> tensors, const FilePlan& plan);

// An array on the host that holds a region.
struct HostBox {
  const char* data = nullptr;
  BoxInArray box;
  std::shared_ptr<const void> owner;  // Keeps the data.
};

struct WrittenFile {
  int64_t bytes = 0;
  int64_t header_bytes = 0;
  uint32_t header_crc = 0;
  std::vector<std::vector<uint32_t>> crcs;  // By entry and block.
};

// Writes it and flushes it to the disk; asks for one entry after another.
using FetchRegion =
    std::function<absl::StatusOr<HostBox>(const FilePlan::Entry& entry)>;
absl::StatusOr<WrittenFile> WriteShardFile(const std::string& folder,
                                           absl::Span<const TensorInfo> tensors,
                                           const FilePlan& plan,
                                           const FetchRegion& fetch);

// Of files that were all written. `written` is by file.
absl::StatusOr<Manifest> MakeManifest(absl::Span<const TensorInfo> tensors,
                                      absl::Span<const FilePlan> files,
                                      absl::Span<const WrittenFile> written);

}  // namespace meshwright

#endif  // MESHWRIGHT_CHECKPOINT_SHARD_FILE_H_
