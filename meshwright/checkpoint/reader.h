// Reads checkpoints: any region of any tensor, however they were saved.
//
//   MW_ASSIGN_OR_RETURN(auto reader, CheckpointReader::Open("ckpt"));
//   MW_RETURN_IF_ERROR(reader->Read({{.tensor = &saved, .region = {{0}, {4}},
//                                     .data = bytes, .box = {{4}, {0}}}}));
//
// Files are read block by block, each block once, however many requests need
// it. Its checksum is verified, and it is copied to its destinations unless it
// could be read into place. Errors are one line with the file and the reason.
#ifndef MESHWRIGHT_CHECKPOINT_READER_H_
#define MESHWRIGHT_CHECKPOINT_READER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "meshwright/checkpoint/manifest.h"
#include "meshwright/checkpoint/tensor_region.h"
#include "meshwright/state/tensor.h"

namespace meshwright {

// A requested region, and the array that it is read into.
struct WantedRegion {
  const SavedTensor* tensor = nullptr;  // Of the reader's manifest.
  TensorRegion region;
  char* data = nullptr;
  BoxInArray box;
};

// Thread-safe.
class CheckpointReader {
 public:
  // `path` as in FindCheckpoint. kNotFound; kInvalidArgument if the manifest is
  // damaged or of another version.
  static absl::StatusOr<std::unique_ptr<CheckpointReader>> Open(
      const std::string& path);
  ~CheckpointReader();

  const std::string& folder() const { return folder_; }
  const Manifest& manifest() const { return manifest_; }

  // Uses all cores. Requires: the destinations do not overlap.
  absl::Status Read(absl::Span<const WantedRegion> wanted);
  // Advises the kernel that these regions are read next, so that the disk is
  // not idle while others are processed.
  void ReadAhead(absl::Span<const WantedRegion> wanted);
  // All of one tensor.
  absl::StatusOr<Tensor> ReadTensor(const SavedTensor& tensor);
  // Reads everything without keeping it.
  absl::Status Verify();

 private:
  struct OpenFile;
  struct Task;

  CheckpointReader(std::string folder, Manifest manifest);

  // With its header checked.
  absl::StatusOr<std::shared_ptr<const OpenFile>> FileOf(int64_t number);
  bool IsWanted(const Task& task) const;
  // For all requested blocks, in the order of the files.
  std::vector<Task> TasksOf(absl::Span<const WantedRegion> wanted) const;
  // Tasks for all requested blocks of a saved region, in groups.
  void AddTasks(Task task, std::vector<Task>& tasks) const;
  // Advises the kernel that it will be read.
  void Announce(const Task& task);
  absl::Status RunAll(std::vector<Task> tasks);
  absl::Status Run(const Task& task);

  const std::string folder_;
  const Manifest manifest_;
  std::mutex mutex_;
  std::map<int64_t, std::shared_ptr<const OpenFile>> open_;  // By number.
};

}  // namespace meshwright

#endif  // MESHWRIGHT_CHECKPOINT_READER_H_
