// The table of contents of a zip archive, zip64 included.
#ifndef MESHWRIGHT_STATE_ZIP_DIRECTORY_H_
#define MESHWRIGHT_STATE_ZIP_DIRECTORY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/state/read_bytes.h"

namespace meshwright {

struct ZipEntry {
  static constexpr int kStored = 0;
  static constexpr int kDeflated = 8;

  std::string name;
  int method = kStored;
  uint32_t crc32 = 0;
  int64_t bytes = 0;         // Unpacked, as the directory says.
  int64_t offset = 0;        // Of its contents in the archive.
  int64_t packed_bytes = 0;  // Of these.
};

// Entries in directory order, of an archive of so many bytes; nothing but the
// directory and the headers of entries is read. All contents lie inside the
// archive and no two overlap; the directory's sizes are otherwise not to be
// trusted.
absl::StatusOr<std::vector<ZipEntry>> ReadZipDirectory(int64_t archive_bytes,
                                                       ReadBytesAt read);

}  // namespace meshwright

#endif  // MESHWRIGHT_STATE_ZIP_DIRECTORY_H_
