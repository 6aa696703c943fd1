#include "meshwright/base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <new>
#include <utility>

#include "absl/strings/str_cat.h"
#include "meshwright/base/output_target.h"
#include "meshwright/base/process_end.h"
#include "meshwright/base/status_macros.h"

namespace meshwright {
namespace {

constexpr int64_t kChunkBytes = int64_t{1} << 20;
// Limit for the stem of a temporary file's name.
constexpr size_t kMaxStemBytes = 200;

// Closes when it goes out of scope.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int get() const { return fd_; }
  int Release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

absl::Status TooLarge(const std::string& path, int64_t max_bytes) {
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": more than ", max_bytes, " bytes"));
}

absl::Status NoMemory(const std::string& path) {
  return absl::ResourceExhaustedError(
      absl::StrCat(path, ": does not fit in memory"));
}

// Memory of this machine: Linux allows larger allocations and then ends the
// process.
int64_t MemoryBytes() {
  return int64_t{::sysconf(_SC_PHYS_PAGES)} * ::sysconf(_SC_PAGESIZE);
}

// The size of a regular file; 0 for a pipe, whose size is unknown.
absl::StatusOr<int64_t> ExpectedBytes(int fd, const std::string& path) {
  struct stat info;
  if (::fstat(fd, &info) != 0) return absl::ErrnoToStatus(errno, path);
  if (S_ISDIR(info.st_mode)) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": is a folder"));
  }
  if (S_ISFIFO(info.st_mode)) return 0;
  if (!S_ISREG(info.st_mode)) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": is not a file"));
  }
  return static_cast<int64_t>(info.st_size);
}

// Appends up to `wanted` bytes; returns how many came, 0 at the end.
absl::StatusOr<int64_t> ReadSome(int fd, const std::string& path,
                                 int64_t wanted, std::string& bytes) {
  const size_t filled = bytes.size();
  bytes.resize(filled + wanted);
  ssize_t got = -1;
  do {
    got = ::read(fd, bytes.data() + filled, wanted);
  } while (got < 0 && errno == EINTR);
  if (got < 0) return absl::ErrnoToStatus(errno, path);
  bytes.resize(filled + got);
  return got;
}

absl::Status WriteAll(int fd, absl::string_view bytes,
                      const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return absl::ErrnoToStatus(errno, path);
    bytes.remove_prefix(written);
  }
  return absl::OkStatus();
}

// Makes a rename durable; on file systems that do not support it, the rename is
// still done.
void FlushFolder(const std::string& path) {
  const size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "."
                             : slash == 0               ? "/"
                                                        : path.substr(0, slash);
  Descriptor fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd.get() >= 0) ::fsync(fd.get());
}

absl::Status WritePieces(int fd, const std::string& path,
                         absl::Span<const absl::string_view> pieces) {
  for (absl::string_view piece : pieces) {
    MW_RETURN_IF_ERROR(WriteAll(fd, piece, path));
  }
  return absl::OkStatus();
}

// Written in order with what is printed.
absl::Status PrintOut(const std::string& path,
                      absl::Span<const absl::string_view> pieces) {
  for (const absl::string_view piece : pieces) {
    if (std::fwrite(piece.data(), 1, piece.size(), stdout) != piece.size()) {
      return absl::ErrnoToStatus(errno, path);
    }
  }
  return std::fflush(stdout) == 0 ? absl::OkStatus()
                                  : absl::ErrnoToStatus(errno, path);
}

// Writes to a device or pipe.
absl::Status WriteInto(const OutputTarget& target, const std::string& path,
                       absl::Span<const absl::string_view> pieces) {
  Descriptor file(::open(target.path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
  if (file.get() < 0) return absl::ErrnoToStatus(errno, path);
  MW_RETURN_IF_ERROR(WritePieces(file.get(), path, pieces));
  return ::close(file.Release()) == 0 ? absl::OkStatus()
                                      : absl::ErrnoToStatus(errno, path);
}

// Keeps the owner and permissions of the replaced file.
absl::Status KeepMode(int fd, const OutputTarget& target,
                      const std::string& path) {
  if (!target.info.has_value()) return absl::OkStatus();
  if (::faccessat(AT_FDCWD, target.path.c_str(), W_OK, AT_EACCESS) != 0) {
    return absl::ErrnoToStatus(errno, path);
  }
  // Only root may change the owner; otherwise, the writer owns the file.
  const bool given =
      ::fchown(fd, target.info->st_uid, target.info->st_gid) == 0;
  const mode_t set_ids = S_ISUID | S_ISGID;
  const mode_t mode =
      target.info->st_mode & 07777 & (given ? ~mode_t{0} : ~set_ids);
  return ::fchmod(fd, mode) == 0 ? absl::OkStatus()
                                 : absl::ErrnoToStatus(errno, path);
}

absl::Status Replace(const OutputTarget& target, const std::string& path,
                     absl::Span<const absl::string_view> pieces) {
  // So short that the file name has room for a suffix.
  const size_t slash = target.path.rfind('/') + 1;
  TemporaryFile temporary(target.path.substr(0, slash) +
                          target.path.substr(slash, kMaxStemBytes));
  if (temporary.fd() < 0) return absl::ErrnoToStatus(errno, path);
  MW_RETURN_IF_ERROR(KeepMode(temporary.fd(), target, path));
  MW_RETURN_IF_ERROR(WritePieces(temporary.fd(), path, pieces));
  if (::fsync(temporary.fd()) != 0) return absl::ErrnoToStatus(errno, path);
  if (const int error = temporary.Close())
    return absl::ErrnoToStatus(error, path);
  if (const int error = temporary.MoveTo(target.path)) {
    return absl::ErrnoToStatus(error, path);
  }
  FlushFolder(target.path);
  return absl::OkStatus();
}

absl::StatusOr<std::string> ReadAll(const std::string& path,
                                    int64_t max_bytes) {
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) return absl::ErrnoToStatus(errno, path);
  MW_ASSIGN_OR_RETURN(const int64_t expected, ExpectedBytes(file.get(), path));
  if (expected > max_bytes) return TooLarge(path, max_bytes);
  if (expected >= MemoryBytes()) return NoMemory(path);
  std::string bytes;
  bytes.reserve(expected + 1);
  while (true) {
    const int64_t filled = static_cast<int64_t>(bytes.size());
    // Asking for one byte more than expected finds the end without growing the
    // buffer.
    const int64_t wanted =
        expected >= filled ? expected + 1 - filled : kChunkBytes;
    MW_ASSIGN_OR_RETURN(const int64_t got,
                        ReadSome(file.get(), path, wanted, bytes));
    if (got == 0) return bytes;
    if (std::ssize(bytes) > max_bytes) return TooLarge(path, max_bytes);
  }
}

}  // namespace

absl::StatusOr<std::string> ReadFile(const std::string& path,
                                     int64_t max_bytes) {
  try {
    return ReadAll(path, max_bytes);
  } catch (const std::bad_alloc&) {
    return NoMemory(path);
  }
}

absl::Status WriteFileAtomically(const std::string& path,
                                 absl::Span<const absl::string_view> pieces) {
  MW_ASSIGN_OR_RETURN(const OutputTarget target, FindTarget(path));
  if (target.descriptor == STDOUT_FILENO) return PrintOut(path, pieces);
  if (target.descriptor.has_value()) {
    return WritePieces(*target.descriptor, path, pieces);
  }
  return target.is_special() ? WriteInto(target, path, pieces)
                             : Replace(target, path, pieces);
}

absl::Status WriteFileAtomically(const std::string& path,
                                 absl::string_view bytes) {
  return WriteFileAtomically(path, absl::MakeConstSpan(&bytes, 1));
}

}  // namespace meshwright
