#include "meshwright/state/npz.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "meshwright/base/annotate.h"
#include "meshwright/base/bad.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/state/npy.h"
#include "meshwright/state/zip_directory.h"

namespace meshwright {
namespace {

constexpr size_t kMaxStep = size_t{1} << 30;  // zlib counts in 32 bits.

// Reads the uncompressed bytes of one entry in order.
class EntryReader {
 public:
  // `archive` contains the entry.
  EntryReader(const ZipEntry& entry, absl::string_view archive)
      : entry_(entry),
        input_(archive.substr(entry.offset, entry.packed_bytes)) {}
  ~EntryReader() {
    if (inflating_) inflateEnd(&stream_);
  }
  EntryReader(const EntryReader&) = delete;
  EntryReader& operator=(const EntryReader&) = delete;

  absl::Status Open() {
    if (entry_.method == ZipEntry::kStored) return absl::OkStatus();
    if (entry_.method != ZipEntry::kDeflated) {
      return Bad(absl::StrCat("is packed by method ", entry_.method));
    }
    if (inflateInit2(&stream_, -MAX_WBITS) != Z_OK) {
      return absl::ResourceExhaustedError("zlib is out of memory");
    }
    inflating_ = true;
    return absl::OkStatus();
  }

  absl::Status Read(char* out, size_t size) {
    while (size > 0) {
      const size_t step = std::min(size, kMaxStep);
      MW_RETURN_IF_ERROR(inflating_ ? Inflate(out, step) : Copy(out, step));
      crc_ = crc32(crc_, reinterpret_cast<const Bytef*>(out),
                   static_cast<uInt>(step));
      out += step;
      size -= step;
    }
    return absl::OkStatus();
  }

  absl::Status CheckSum() const {
    if (crc_ == entry_.crc32) return absl::OkStatus();
    return Bad("its checksum does not agree");
  }

 private:
  absl::Status Copy(char* out, size_t size) {
    if (input_.size() < size) return Bad("is cut short");
    std::memcpy(out, input_.data(), size);
    input_.remove_prefix(size);
    return absl::OkStatus();
  }

  absl::Status Inflate(char* out, size_t size) {
    stream_.next_out = reinterpret_cast<Bytef*>(out);
    stream_.avail_out = static_cast<uInt>(size);
    while (stream_.avail_out > 0) {
      const size_t step = std::min(input_.size(), kMaxStep);
      stream_.next_in =
          reinterpret_cast<Bytef*>(const_cast<char*>(input_.data()));
      stream_.avail_in = static_cast<uInt>(step);
      const int result = inflate(&stream_, Z_NO_FLUSH);
      input_.remove_prefix(step - stream_.avail_in);
      if (result == Z_OK) continue;
      if (result == Z_STREAM_END && stream_.avail_out == 0) break;
      return Bad(result == Z_STREAM_END || result == Z_BUF_ERROR
                     ? "is cut short"
                     : "its deflated data are damaged");
    }
    return absl::OkStatus();
  }

  const ZipEntry& entry_;
  absl::string_view input_;
  z_stream stream_ = {};
  bool inflating_ = false;
  uLong crc_ = 0;
};

// Deflate never compresses data by more than a factor of 1032.
absl::Status CheckBytes(const ZipEntry& entry) {
  const int64_t packed = entry.packed_bytes;
  const bool possible = entry.method == ZipEntry::kStored
                            ? entry.bytes == packed
                            : entry.bytes / 1032 <= packed;
  if (possible) return absl::OkStatus();
  return Bad(absl::StrCat("cannot hold ", entry.bytes, " bytes in ", packed));
}

absl::StatusOr<Tensor> ReadEntry(const ZipEntry& entry,
                                 absl::string_view archive) {
  if (!absl::EndsWith(entry.name, ".npy")) return Bad("is not an .npy file");
  MW_RETURN_IF_ERROR(CheckBytes(entry));
  EntryReader reader(entry, archive);
  MW_RETURN_IF_ERROR(reader.Open());
  MW_ASSIGN_OR_RETURN(Tensor tensor,
                      ReadNpy(entry.bytes, [&](char* out, size_t size) {
                        return reader.Read(out, size);
                      }));
  MW_RETURN_IF_ERROR(reader.CheckSum());
  tensor.name = std::string(absl::StripSuffix(entry.name, ".npy"));
  return tensor;
}

}  // namespace

absl::StatusOr<std::vector<Tensor>> ParseNpz(absl::string_view bytes) {
  MW_ASSIGN_OR_RETURN(
      const std::vector<ZipEntry> entries,
      ReadZipDirectory(static_cast<int64_t>(bytes.size()),
                       [&](int64_t offset, char* out, size_t size) {
                         std::memcpy(out, bytes.data() + offset, size);
                         return absl::OkStatus();
                       }));
  std::vector<Tensor> tensors;
  for (const ZipEntry& entry : entries) {
    if (absl::EndsWith(entry.name, "/")) continue;  // A folder.
    absl::StatusOr<Tensor> tensor = ReadEntry(entry, bytes);
    if (!tensor.ok()) {
      return Annotate(tensor.status(),
                      absl::Utf8SafeCHexEscape(entry.name.substr(0, 200)));
    }
    tensors.push_back(*std::move(tensor));
  }
  return tensors;
}

}  // namespace meshwright
