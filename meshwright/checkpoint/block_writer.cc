#include "meshwright/checkpoint/block_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "meshwright/base/status_macros.h"

namespace meshwright {
namespace {

constexpr size_t kBufferBytes = size_t{4} << 20;
// Alignment of addresses, offsets and sizes.
constexpr size_t kAlignment = 4096;

}  // namespace

void BlockWriter::Free::operator()(char* memory) const { std::free(memory); }

BlockWriter::BlockWriter(std::string path, int fd, bool is_direct)
    : path_(std::move(path)),
      fd_(fd),
      is_direct_(is_direct),
      buffer_(
          static_cast<char*>(std::aligned_alloc(kAlignment, kBufferBytes))) {}

BlockWriter::~BlockWriter() { ::close(fd_); }

absl::StatusOr<std::unique_ptr<BlockWriter>> BlockWriter::Create(
    std::string path) {
  constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
  bool is_direct = true;
  int fd = ::open(path.c_str(), kFlags | O_DIRECT, 0666);
  if (fd < 0 && errno == EINVAL) {
    is_direct = false;
    // Some file systems create the file despite the error.
    fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  }
  if (fd < 0) return absl::ErrnoToStatus(errno, path);
  return std::unique_ptr<BlockWriter>(
      new BlockWriter(std::move(path), fd, is_direct));
}

absl::Status BlockWriter::Failure(int error) const {
  // A limit on file sizes and an exceeded quota count as a full disk.
  if (error == EFBIG || error == EDQUOT) error = ENOSPC;
  return absl::ErrnoToStatus(error, path_);
}

absl::Status BlockWriter::WriteOut(const char* data, size_t size) {
  while (size > 0) {
    const ssize_t wrote = ::pwrite(fd_, data, size, written_);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0 && errno == EINVAL && is_direct_) {
      // The file system needs larger blocks than ours, or does not support
      // O_DIRECT.
      is_direct_ = false;
      const int flags = ::fcntl(fd_, F_GETFL);
      if (::fcntl(fd_, F_SETFL, flags & ~O_DIRECT) == 0) continue;
    }
    if (wrote < 0) return Failure(errno);
    data += wrote;
    size -= wrote;
    written_ += wrote;
    // On a nearly full disk, a write may end anywhere.
    if (is_direct_ && wrote % kAlignment != 0) {
      const int flags = ::fcntl(fd_, F_GETFL);
      if (::fcntl(fd_, F_SETFL, flags & ~O_DIRECT) != 0) return Failure(errno);
      is_direct_ = false;
    }
  }
  return absl::OkStatus();
}

absl::Status BlockWriter::Append(const char* data, size_t size) {
  while (size > 0) {
    const size_t some = std::min(size, kBufferBytes - filled_);
    std::memcpy(buffer_.get() + filled_, data, some);
    filled_ += some;
    data += some;
    size -= some;
    if (filled_ < kBufferBytes) continue;
    MW_RETURN_IF_ERROR(WriteOut(buffer_.get(), filled_));
    filled_ = 0;
  }
  return absl::OkStatus();
}

absl::Status BlockWriter::Finish() {
  // The end is padded, then truncated.
  const int64_t size = written_ + static_cast<int64_t>(filled_);
  const size_t padded =
      is_direct_ ? (filled_ + kAlignment - 1) / kAlignment * kAlignment
                 : filled_;
  std::memset(buffer_.get() + filled_, 0, padded - filled_);
  MW_RETURN_IF_ERROR(WriteOut(buffer_.get(), padded));
  if (::ftruncate(fd_, size) != 0) return Failure(errno);
  if (::fsync(fd_) != 0) return Failure(errno);
  return absl::OkStatus();
}

}  // namespace meshwright
