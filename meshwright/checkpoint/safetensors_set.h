// Conversion of checkpoints to and from other tools' format: safetensors files
// of whole tensors, and an index of which tensor is in which file, as on
// HuggingFace's hub.
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
  std::string output;  // A folder; created if it does not exist.
  // A larger tensor gets a file of its own.
  int64_t max_file_bytes = int64_t{4} << 30;
  std::string prefix;  // Only tensors with this prefix...
  bool strip = false;  // ... and without it in the output.
};

struct ExportedSet {
  int64_t tensors = 0;
  int64_t bytes = 0;
  std::vector<std::string> files;
};

// kAlreadyExists if one of the files exists; kInvalidArgument if no tensor
// matches, or one has a type that safetensors lacks. A failure leaves no file
// behind.
absl::StatusOr<ExportedSet> ExportSet(CheckpointReader& reader,
                                      const ExportOptions& options);

struct ImportOptions {
  std::string source;     // A file, or a folder of files.
  std::string directory;  // Of checkpoints.
  int64_t step = 0;
  std::string prefix;  // Added before every name.
};

// Returns the checkpoint's folder. kInvalidArgument if the files are damaged or
// contain a tensor twice.
absl::StatusOr<std::string> ImportSet(const ImportOptions& options);

}  // namespace meshwright

#endif  // MESHWRIGHT_CHECKPOINT_SAFETENSORS_SET_H_
