// The directory of a zip archive, including zip64.
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
  int64_t bytes = 0;         // Uncompressed, according to the directory.
  int64_t offset = 0;        // Of its contents in the archive.
  int64_t packed_bytes = 0;  // Compressed.
};

// Entries in directory order, of an archive of `archive_bytes` bytes; reads
// only the directory and the headers of entries. Contents are inside of the
// archive and do not overlap; the directory's sizes are otherwise not verified.
absl::StatusOr<std::vector<ZipEntry>> ReadZipDirectory(int64_t archive_bytes,
                                                       ReadBytesAt read);

}  // namespace meshwright

#endif  // MESHWRIGHT_STATE_ZIP_DIRECTORY_H_
