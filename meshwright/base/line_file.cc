#include "meshwright/base/line_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace meshwright {
namespace {

absl::Status Failure(const std::string& path, int error) {
  return absl::Status(error == ENOENT ? absl::StatusCode::kNotFound
                                      : absl::StatusCode::kFailedPrecondition,
                      absl::StrCat(path, ": ", std::strerror(error)));
}

}  // namespace

absl::StatusOr<std::unique_ptr<LineFile>> LineFile::Open(
    const std::string& path) {
  const int fd =
      ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  if (fd < 0) return Failure(path, errno);
  return std::unique_ptr<LineFile>(new LineFile(path, fd));
}

LineFile::~LineFile() { ::close(fd_); }

void LineFile::Append(absl::string_view line) {
  const std::string whole = absl::StrCat(line, "\n");
  const std::lock_guard lock(mutex_);
  if (!status_.ok()) return;
  size_t written = 0;
  while (written < whole.size()) {
    const ssize_t count =
        ::write(fd_, whole.data() + written, whole.size() - written);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      status_ = Failure(path_, errno);
      return;
    }
    written += count;
  }
}

absl::Status LineFile::status() const {
  const std::lock_guard lock(mutex_);
  return status_;
}

}  // namespace meshwright
