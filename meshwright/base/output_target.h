// Where a path that is to be written leads: symbolic links are followed, so
// that writing replaces what they name and not them.
#ifndef MESHWRIGHT_BASE_OUTPUT_TARGET_H_
#define MESHWRIGHT_BASE_OUTPUT_TARGET_H_

#include <sys/stat.h>

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace meshwright {

struct OutputTarget {
  std::string path;  // No link.
  // Of this process: /dev/stdout, /dev/fd/3. To be written to as it is.
  std::optional<int> descriptor;
  // Of what is there.
  std::optional<struct stat> info;

  bool is_regular() const { return info.has_value() && S_ISREG(info->st_mode); }
  // A device or pipe: to be opened and written to, never replaced.
  bool is_special() const {
    return info.has_value() && !S_ISREG(info->st_mode);
  }
};

// Fails with one line that begins with the path.
absl::StatusOr<OutputTarget> FindTarget(const std::string& path);

// Fails as writing would for a folder that is missing or may not be written to,
// a folder in the file's place, a file that may not be changed. Touches
// nothing.
absl::Status CheckWritable(const std::string& path);

}  // namespace meshwright

#endif  // MESHWRIGHT_BASE_OUTPUT_TARGET_H_
