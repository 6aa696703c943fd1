// The folders of checkpoints: DIR/step_00000100, DIR/step_00000200, ...
//
//   MW_ASSIGN_OR_RETURN(auto save, SaveFolder::Create("ckpt", 100));
//   ... write files into save->path() ...
//   MW_RETURN_IF_ERROR(save->Commit(manifest));   // ckpt/step_00000100
//   MW_RETURN_IF_ERROR(KeepLast("ckpt", 3));
//
// A save in progress is in a folder beside them whose name begins with a dot,
// locked by the process that saves; it becomes a checkpoint by one rename.
// Errors are one line that begins with the path.
#ifndef MESHWRIGHT_CHECKPOINT_SAVE_FOLDER_H_
#define MESHWRIGHT_CHECKPOINT_SAVE_FOLDER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "meshwright/checkpoint/manifest.h"

namespace meshwright {

class SaveFolder {
 public:
  // Creates `directory`, too, if it does not exist; removes what dead processes
  // have left in it.
  static absl::StatusOr<std::unique_ptr<SaveFolder>> Create(
      const std::string& directory, int64_t step);
  // Removes the folder unless it was committed.
  ~SaveFolder();

  const std::string& path() const { return path_; }

  // Writes the manifest and makes the folder the checkpoint of its step,
  // replacing an older one. Requires: all files are on disk.
  // kFailedPrecondition if a file is not seen here as it was written.
  absl::Status Commit(const Manifest& manifest);

 private:
  SaveFolder(std::string directory, std::string path, int64_t step, int lock)
      : directory_(std::move(directory)),
        path_(std::move(path)),
        step_(step),
        lock_(lock) {}

  const std::string directory_;
  const std::string path_;
  const int64_t step_;
  const int lock_;  // The open folder.
};

// "step_00000100"
std::string StepFolderName(int64_t step);

// The steps of complete checkpoints, ascending. kNotFound if the folder does
// not exist.
absl::StatusOr<std::vector<int64_t>> ListSteps(const std::string& directory);

// Removes all but the last `count` complete checkpoints.
absl::Status KeepLast(const std::string& directory, int64_t count);

// The folder of a checkpoint: `path` itself, or the newest complete one in it.
// kNotFound if there is none.
absl::StatusOr<std::string> FindCheckpoint(const std::string& path);

}  // namespace meshwright

#endif  // MESHWRIGHT_CHECKPOINT_SAVE_FOLDER_H_
