// Checkpoints from and to what others read: safetensors files of whole tensors,
// and an index that says which is where, as on HuggingFace's hub.
//
//   OUT/model-00001-of-00002.safetensors, OUT/model-00002-of-00002.safetensors,
//   OUT/model.safetensors.index.json; a single file is OUT/model.safetensors
//
// Errors are one line that begins with the file.
#ifndef MESHWRIGHT_CHECKPOINT_SAFETENSORS_SET_H_
#define MESHWRIGHT_CHECKPOINT_SAFETENSORS_SET_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/checkpoint/reader.h"

namespace meshwright {

struct ExportOptions {
  std::string output;  // A folder; made if it is not there.
  int64_t max_file_bytes = int64_t{4} << 30;  // A larger tensor is alone.
  std::string prefix;  // Only tensors whose names begin so...
  bool strip = false;  // ... and without that.
};

struct ExportedSet {
  int64_t tensors = 0;
  int64_t bytes = 0;
  std::vector<std::string> files;
};

// kAlreadyExists when one of the files does; kInvalidArgument when no tensor
// has such a name, or one is of a type that safetensors lacks. What fails
// leaves no file behind.
absl::StatusOr<ExportedSet> ExportSet(CheckpointReader& reader,
                                      const ExportOptions& options);

struct ImportOptions {
  std::string source;     // A file, or a folder of such.
  std::string directory;  // Of checkpoints.
  int64_t step = 0;
  std::string prefix;  // Before every name.
};

// The checkpoint's folder. kInvalidArgument when the files are damaged or name
// a tensor twice.
absl::StatusOr<std::string> ImportSet(const ImportOptions& options);

}  // namespace meshwright

#endif  // MESHWRIGHT_CHECKPOINT_SAFETENSORS_SET_H_
