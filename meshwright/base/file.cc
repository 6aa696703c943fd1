#include "meshwright/base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <new>
#include <utility>

#include "absl/strings/str_cat.h"
#include "meshwright/base/status_macros.h"

namespace meshwright {
namespace {

constexpr int64_t kChunkBytes = int64_t{1} << 20;

absl::Status Failure(int error, const std::string& path) {
  return absl::ErrnoToStatus(error, path);
}

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

// Of this machine: Linux promises more and then ends the process.
int64_t MemoryBytes() {
  return int64_t{::sysconf(_SC_PHYS_PAGES)} * ::sysconf(_SC_PAGESIZE);
}

// The size of a regular file; 0 for a pipe, which does not know.
absl::StatusOr<int64_t> ExpectedBytes(int fd, const std::string& path) {
  struct stat info;
  if (::fstat(fd, &info) != 0) return Failure(errno, path);
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
  if (got < 0) return Failure(errno, path);
  bytes.resize(filled + got);
  return got;
}

absl::Status WriteAll(int fd, absl::string_view bytes,
                      const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return Failure(errno, path);
    bytes.remove_prefix(written);
  }
  return absl::OkStatus();
}

absl::Status WriteAndFlush(Descriptor& file, const std::string& path,
                           absl::Span<const absl::string_view> pieces) {
  for (absl::string_view piece : pieces) {
    MW_RETURN_IF_ERROR(WriteAll(file.get(), piece, path));
  }
  if (::fsync(file.get()) != 0) return Failure(errno, path);
  if (::close(file.Release()) != 0) return Failure(errno, path);
  return absl::OkStatus();
}

// Makes a rename durable; file systems without it still have the rename.
void FlushFolder(const std::string& path) {
  const size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "."
                             : slash == 0               ? "/"
                                                        : path.substr(0, slash);
  Descriptor fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd.get() >= 0) ::fsync(fd.get());
}

absl::StatusOr<std::string> ReadAll(const std::string& path,
                                    int64_t max_bytes) {
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) return Failure(errno, path);
  MW_ASSIGN_OR_RETURN(const int64_t expected, ExpectedBytes(file.get(), path));
  if (expected > max_bytes) return TooLarge(path, max_bytes);
  if (expected >= MemoryBytes()) return NoMemory(path);
  std::string bytes;
  bytes.reserve(expected + 1);
  while (true) {
    const int64_t filled = static_cast<int64_t>(bytes.size());
    // One byte more than expected shows the end without growing the buffer.
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
  static std::atomic<int> counter = 0;
  const std::string temporary =
      absl::StrCat(path, ".tmp.", ::getpid(), ".", ++counter);
  Descriptor file(
      ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (file.get() < 0) return Failure(errno, path);
  absl::Status status = WriteAndFlush(file, path, pieces);
  if (status.ok() && ::rename(temporary.c_str(), path.c_str()) != 0) {
    status = Failure(errno, path);
  }
  if (status.ok()) {
    FlushFolder(path);
  } else {
    ::unlink(temporary.c_str());
  }
  return status;
}

absl::Status WriteFileAtomically(const std::string& path,
                                 absl::string_view bytes) {
  return WriteFileAtomically(path, absl::MakeConstSpan(&bytes, 1));
}

}  // namespace meshwright
