#include "meshwright/state/tensor_index.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "meshwright/base/annotate.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/state/npy.h"
#include "meshwright/state/read_bytes.h"
#include "meshwright/state/zip_directory.h"

namespace meshwright {
namespace {

absl::Status NotInParts(absl::string_view what, absl::string_view cure) {
  return absl::InvalidArgumentError(absl::StrCat(
      "is ", what, ", so that no sample can be read alone; ", cure));
}

// An .npy file at `offset` in another file.
absl::StatusOr<PlacedTensor> IndexNpy(const RandomAccessFile& file,
                                      int64_t offset, int64_t bytes) {
  int64_t at = offset;
  MW_ASSIGN_OR_RETURN(
      const NpyHeader header, ReadNpyHeader(bytes, [&](char* out, size_t size) {
        at += static_cast<int64_t>(size);
        return file.Read(at - static_cast<int64_t>(size), out, size);
      }));
  if (header.big_endian && header.element_bytes > 1) {
    return NotInParts("big-endian", "write it in this machine's byte order");
  }
  if (header.fortran_order && header.dimensions.size() > 1) {
    return NotInParts("column-major", "write numpy.ascontiguousarray of it");
  }
  PlacedTensor placed{.offset = offset + header.bytes};
  placed.tensor.type = header.type;
  placed.tensor.dimensions = header.dimensions;
  if (header.type == ElementType::kInvalid) {
    placed.tensor.raw_bytes = header.element_bytes;
  }
  return placed;
}

absl::StatusOr<PlacedTensor> IndexEntry(const RandomAccessFile& file,
                                        const ZipEntry& entry) {
  if (!absl::EndsWith(entry.name, ".npy")) {
    return absl::InvalidArgumentError("is not an .npy file");
  }
  if (entry.method != ZipEntry::kStored) {
    return NotInParts("compressed", "write it with numpy.savez");
  }
  if (entry.bytes != entry.packed_bytes) {
    return absl::InvalidArgumentError("is cut short");
  }
  MW_ASSIGN_OR_RETURN(PlacedTensor placed,
                      IndexNpy(file, entry.offset, entry.bytes));
  placed.tensor.name = std::string(absl::StripSuffix(entry.name, ".npy"));
  return placed;
}

absl::StatusOr<std::vector<PlacedTensor>> IndexNpz(const RandomAccessFile& file,
                                                   ReadBytesAt read) {
  MW_ASSIGN_OR_RETURN(const std::vector<ZipEntry> entries,
                      ReadZipDirectory(file.bytes(), read));
  std::vector<PlacedTensor> placed;
  for (const ZipEntry& entry : entries) {
    if (absl::EndsWith(entry.name, "/")) continue;  // A folder.
    absl::StatusOr<PlacedTensor> one = IndexEntry(file, entry);
    if (!one.ok()) {
      return Annotate(one.status(),
                      absl::Utf8SafeCHexEscape(entry.name.substr(0, 200)));
    }
    placed.push_back(*std::move(one));
  }
  return placed;
}

absl::StatusOr<std::vector<PlacedTensor>> IndexAnyKind(
    const RandomAccessFile& file) {
  const auto read = [&](int64_t offset, char* out, size_t size) {
    return file.Read(offset, out, size);
  };
  std::string head(std::min<int64_t>(file.bytes(), 8), '\0');
  MW_RETURN_IF_ERROR(file.Read(0, head.data(), head.size()));
  if (absl::StartsWith(head, "\x93NUMPY")) {
    MW_ASSIGN_OR_RETURN(PlacedTensor placed,
                        IndexNpy(file, /*offset=*/0, file.bytes()));
    return std::vector<PlacedTensor>{std::move(placed)};
  }
  if (absl::StartsWith(head, "PK\x03\x04") ||
      absl::StartsWith(head, "PK\x05\x06")) {
    return IndexNpz(file, read);
  }
  return IndexSafetensors(file.bytes(), read);
}

}  // namespace

absl::StatusOr<std::vector<PlacedTensor>> IndexTensors(
    const RandomAccessFile& file) {
  absl::StatusOr<std::vector<PlacedTensor>> placed = IndexAnyKind(file);
  // Failed reads name the file already.
  if (!placed.ok() &&
      !absl::StartsWith(placed.status().message(), file.path())) {
    return Annotate(placed.status(), file.path());
  }
  return placed;
}

}  // namespace meshwright
