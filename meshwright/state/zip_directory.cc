#include "meshwright/state/zip_directory.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "meshwright/base/bad.h"
#include "meshwright/base/status_macros.h"

namespace meshwright {
namespace {

constexpr uint64_t kEndBytes = 22;
constexpr uint64_t kLocatorBytes = 20;
constexpr uint64_t kEntryBytes = 46;
constexpr uint64_t kLocalBytes = 30;
constexpr uint64_t kMax32 = 0xffffffff;
constexpr uint64_t kMax16 = 0xffff;
constexpr uint64_t kMaxDirectoryBytes = uint64_t{1} << 30;

// Little-endian numbers at given offsets, which must exist.
uint64_t Number(absl::string_view bytes, uint64_t at, int size) {
  uint64_t value = 0;
  for (int i = size - 1; i >= 0; --i) {
    value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  }
  return value;
}

bool HasSignature(absl::string_view bytes, uint64_t at, uint64_t size,
                  uint32_t signature) {
  return at <= bytes.size() && size <= bytes.size() - at &&
         Number(bytes, at, 4) == signature;
}

// Reads parts of an archive.
class Archive {
 public:
  Archive(int64_t bytes, ReadBytesAt read)
      : bytes_(static_cast<uint64_t>(bytes)), read_(read) {}

  uint64_t size() const { return bytes_; }

  // Empty if the archive does not have this many bytes there.
  absl::StatusOr<std::string> Read(uint64_t at, uint64_t size) const {
    if (at > bytes_ || size > bytes_ - at) return std::string();
    std::string part(size, '\0');
    MW_RETURN_IF_ERROR(
        read_(static_cast<int64_t>(at), part.data(), part.size()));
    return part;
  }

 private:
  const uint64_t bytes_;
  const ReadBytesAt read_;
};

struct Directory {
  uint64_t offset = 0;
  uint64_t bytes = 0;
  uint64_t entries = 0;
};

// The end record is last, before a comment of at most 64 KiB. `tail` is the end
// of the archive.
absl::StatusOr<uint64_t> FindEnd(absl::string_view tail) {
  if (tail.size() < kEndBytes) return Bad("the zip archive is cut short");
  const uint64_t last = tail.size() - kEndBytes;
  const uint64_t first = last > kMax16 ? last - kMax16 : 0;
  for (uint64_t at = last + 1; at-- > first;) {
    if (!HasSignature(tail, at, kEndBytes, 0x06054b50)) continue;
    if (at + kEndBytes + Number(tail, at + 20, 2) == tail.size()) return at;
  }
  return Bad("the zip archive is cut short");
}

absl::StatusOr<Directory> FindDirectory(const Archive& archive) {
  const uint64_t tail_bytes =
      std::min(archive.size(), kLocatorBytes + kEndBytes + kMax16);
  const uint64_t tail_at = archive.size() - tail_bytes;
  MW_ASSIGN_OR_RETURN(const std::string tail,
                      archive.Read(tail_at, tail_bytes));
  MW_ASSIGN_OR_RETURN(const uint64_t end, FindEnd(tail));
  Directory directory{.offset = Number(tail, end + 16, 4),
                      .bytes = Number(tail, end + 12, 4),
                      .entries = Number(tail, end + 10, 2)};
  if (directory.offset == kMax32 || directory.bytes == kMax32 ||
      directory.entries == kMax16) {
    if (end >= kLocatorBytes &&
        HasSignature(tail, end - kLocatorBytes, kLocatorBytes, 0x07064b50)) {
      const uint64_t at = Number(tail, end - kLocatorBytes + 8, 8);
      MW_ASSIGN_OR_RETURN(const std::string record, archive.Read(at, 56));
      if (!HasSignature(record, 0, 56, 0x06064b50)) {
        return Bad("the zip64 directory is damaged");
      }
      directory = {.offset = Number(record, 48, 8),
                   .bytes = Number(record, 40, 8),
                   .entries = Number(record, 32, 8)};
    }
  }
  const uint64_t limit = tail_at + end;
  if (directory.offset > limit || directory.bytes > limit - directory.offset ||
      directory.entries > directory.bytes / kEntryBytes ||
      directory.bytes > kMaxDirectoryBytes) {
    return Bad("the zip directory lies outside the file");
  }
  return directory;
}

// The sizes and offset of an entry, some of which zip64 stores in the extra
// field.
struct Numbers {
  uint64_t bytes = 0;
  uint64_t packed_bytes = 0;
  uint64_t offset = 0;
};

absl::Status ReadZip64(absl::string_view extra, Numbers& numbers) {
  while (extra.size() >= 4) {
    const uint64_t kind = Number(extra, 0, 2);
    const uint64_t size = Number(extra, 2, 2);
    extra.remove_prefix(4);
    if (size > extra.size()) return Bad("the zip directory is damaged");
    absl::string_view field = extra.substr(0, size);
    extra.remove_prefix(size);
    if (kind != 1) continue;
    for (uint64_t* number :
         {&numbers.bytes, &numbers.packed_bytes, &numbers.offset}) {
      if (*number != kMax32) continue;
      if (field.size() < 8) return Bad("the zip directory is damaged");
      *number = Number(field, 0, 8);
      field.remove_prefix(8);
    }
  }
  return absl::OkStatus();
}

struct Range {
  uint64_t begin = 0;
  uint64_t end = 0;
};

// Finds the contents, which follow the entry's local header.
absl::StatusOr<Range> Locate(const Archive& archive, const Numbers& numbers,
                             ZipEntry& entry) {
  const std::string name = absl::Utf8SafeCHexEscape(entry.name.substr(0, 100));
  MW_ASSIGN_OR_RETURN(const std::string local,
                      archive.Read(numbers.offset, kLocalBytes));
  if (!HasSignature(local, 0, kLocalBytes, 0x04034b50)) {
    return Bad(absl::StrCat(name, ": not where the zip directory says"));
  }
  const uint64_t begin = numbers.offset + kLocalBytes + Number(local, 26, 2) +
                         Number(local, 28, 2);
  if (begin > archive.size() || numbers.packed_bytes > archive.size() - begin ||
      numbers.bytes > std::numeric_limits<int64_t>::max()) {
    return Bad(absl::StrCat(name, ": is cut short"));
  }
  entry.bytes = static_cast<int64_t>(numbers.bytes);
  entry.offset = static_cast<int64_t>(begin);
  entry.packed_bytes = static_cast<int64_t>(numbers.packed_bytes);
  return Range{numbers.offset, begin + numbers.packed_bytes};
}

// Reads the directory entry at `at` and moves past it.
absl::StatusOr<Range> ReadEntry(const Archive& archive,
                                absl::string_view directory, uint64_t& at,
                                ZipEntry& entry) {
  if (!HasSignature(directory, at, kEntryBytes, 0x02014b50)) {
    return Bad("the zip directory is damaged");
  }
  const uint64_t name_bytes = Number(directory, at + 28, 2);
  const uint64_t extra_bytes = Number(directory, at + 30, 2);
  const uint64_t comment_bytes = Number(directory, at + 32, 2);
  const uint64_t size = kEntryBytes + name_bytes + extra_bytes + comment_bytes;
  if (size > directory.size() - at) return Bad("the zip directory is damaged");
  entry.name = std::string(directory.substr(at + kEntryBytes, name_bytes));
  entry.method = static_cast<int>(Number(directory, at + 10, 2));
  entry.crc32 = static_cast<uint32_t>(Number(directory, at + 16, 4));
  if (Number(directory, at + 8, 2) & 1) {
    return Bad(
        absl::StrCat(absl::Utf8SafeCHexEscape(entry.name), ": is encrypted"));
  }
  Numbers numbers{.bytes = Number(directory, at + 24, 4),
                  .packed_bytes = Number(directory, at + 20, 4),
                  .offset = Number(directory, at + 42, 4)};
  MW_RETURN_IF_ERROR(ReadZip64(
      directory.substr(at + kEntryBytes + name_bytes, extra_bytes), numbers));
  at += size;
  return Locate(archive, numbers, entry);
}

}  // namespace

absl::StatusOr<std::vector<ZipEntry>> ReadZipDirectory(int64_t archive_bytes,
                                                       ReadBytesAt read) {
  const Archive archive(archive_bytes, read);
  MW_ASSIGN_OR_RETURN(const Directory directory, FindDirectory(archive));
  MW_ASSIGN_OR_RETURN(const std::string bytes,
                      archive.Read(directory.offset, directory.bytes));
  std::vector<ZipEntry> entries(directory.entries);
  std::vector<Range> ranges;
  uint64_t at = 0;
  for (ZipEntry& entry : entries) {
    MW_ASSIGN_OR_RETURN(const Range range,
                        ReadEntry(archive, bytes, at, entry));
    ranges.push_back(range);
  }
  std::sort(ranges.begin(), ranges.end(),
            [](const Range& a, const Range& b) { return a.begin < b.begin; });
  for (size_t i = 1; i < ranges.size(); ++i) {
    if (ranges[i].begin < ranges[i - 1].end) {
      return Bad("entries of the zip archive overlap");
    }
  }
  return entries;
}

}  // namespace meshwright
