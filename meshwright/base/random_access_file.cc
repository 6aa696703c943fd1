#include "meshwright/base/random_access_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"

namespace meshwright {

RandomAccessFile::RandomAccessFile(std::string path, int fd, int64_t bytes)
    : path_(std::move(path)), fd_(fd), bytes_(bytes) {}

RandomAccessFile::~RandomAccessFile() { ::close(fd_); }

absl::StatusOr<std::unique_ptr<RandomAccessFile>> RandomAccessFile::Open(
    const std::string& path) {
  // Otherwise, opening a pipe would wait for a writer.
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return absl::ErrnoToStatus(errno, path);
  struct stat info;
  if (::fstat(fd, &info) != 0) {
    const int error = errno;
    ::close(fd);
    return absl::ErrnoToStatus(error, path);
  }
  if (!S_ISREG(info.st_mode)) {
    ::close(fd);
    return absl::InvalidArgumentError(absl::StrCat(
        path, S_ISDIR(info.st_mode) ? ": is a folder" : ": is not a file"));
  }
  return absl::WrapUnique(new RandomAccessFile(path, fd, info.st_size));
}

absl::Status RandomAccessFile::Read(int64_t offset, char* out,
                                    size_t size) const {
  while (size > 0) {
    const ssize_t got = ::pread(fd_, out, size, offset);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return absl::ErrnoToStatus(errno, path_);
    if (got == 0) {
      return absl::DataLossError(
          absl::StrCat(path_, ": was cut short: it had ", bytes_,
                       " bytes, and now ends at ", offset));
    }
    out += got;
    size -= got;
    offset += got;
  }
  return absl::OkStatus();
}

}  // namespace meshwright
