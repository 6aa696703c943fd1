// Resolves a path that is to be written: symbolic links are followed, so that
// writing replaces their target and not the link.
#ifndef MESHWRIGHT_BASE_OUTPUT_TARGET_H_
#define MESHWRIGHT_BASE_OUTPUT_TARGET_H_

#include <sys/stat.h>

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace meshwright {

struct OutputTarget {
  std::string path;  // Not a link.
  // For descriptors of this process (/dev/stdout, /dev/fd/3): written to
  // directly.
  std::optional<int> descriptor;
  // Of the existing file, if any.
  std::optional<struct stat> info;

  bool is_regular() const { return info.has_value() && S_ISREG(info->st_mode); }
  // A device or pipe: opened and written to, never replaced.
  bool is_special() const {
    return info.has_value() && !S_ISREG(info->st_mode);
  }
};

// Fails with one line that begins with the path.
absl::StatusOr<OutputTarget> FindTarget(const std::string& path);

// Fails as writing would: the folder is missing or not writable, the path is a
// folder, the file may not be changed. Changes nothing.
absl::Status CheckWritable(const std::string& path);

}  // namespace meshwright

#endif  // MESHWRIGHT_BASE_OUTPUT_TARGET_H_
