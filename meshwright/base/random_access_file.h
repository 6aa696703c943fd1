// A file that is read at arbitrary offsets.
//
//   MW_ASSIGN_OR_RETURN(auto file, RandomAccessFile::Open("train.bin"));
//   MW_RETURN_IF_ERROR(file->Read(/*offset=*/1024, bytes, 256));
//
// Not memory-mapped: if a mapped file is truncated, the process dies; a read
// merely fails.
#ifndef MESHWRIGHT_BASE_RANDOM_ACCESS_FILE_H_
#define MESHWRIGHT_BASE_RANDOM_ACCESS_FILE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace meshwright {

// Thread-safe.
class RandomAccessFile {
 public:
  // For regular files. Errors begin with the path: kNotFound, kInvalidArgument
  // if it is not a file, kPermissionDenied.
  static absl::StatusOr<std::unique_ptr<RandomAccessFile>> Open(
      const std::string& path);
  ~RandomAccessFile();
  RandomAccessFile(const RandomAccessFile&) = delete;
  RandomAccessFile& operator=(const RandomAccessFile&) = delete;

  const std::string& path() const { return path_; }
  int64_t bytes() const { return bytes_; }  // When it was opened.

  // kDataLoss if the file is shorter.
  absl::Status Read(int64_t offset, char* out, size_t size) const;

 private:
  RandomAccessFile(std::string path, int fd, int64_t bytes);

  const std::string path_;
  const int fd_;
  const int64_t bytes_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_BASE_RANDOM_ACCESS_FILE_H_
