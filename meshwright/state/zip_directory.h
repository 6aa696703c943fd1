// The table of contents of a zip archive, zip64 included.
#ifndef MESHWRIGHT_STATE_ZIP_DIRECTORY_H_
#define MESHWRIGHT_STATE_ZIP_DIRECTORY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace meshwright {

struct ZipEntry {
  static constexpr int kStored = 0;
  static constexpr int kDeflated = 8;

  std::string name;
  int method = kStored;
  uint32_t crc32 = 0;
  int64_t bytes = 0;           // Unpacked, as the directory says.
  absl::string_view contents;  // Packed; points into the archive.
};

// Entries in directory order. All contents lie inside the archive and no two
// overlap; the directory's sizes are otherwise not to be trusted.
absl::StatusOr<std::vector<ZipEntry>> ReadZipDirectory(
    absl::string_view archive);

}  // namespace meshwright

#endif  // MESHWRIGHT_STATE_ZIP_DIRECTORY_H_
