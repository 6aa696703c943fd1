#include "meshwright/base/standard_output.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

#include "absl/strings/string_view.h"
#include "meshwright/base/live_line.h"
#include "meshwright/base/process_end.h"

namespace meshwright {
namespace {

constexpr size_t kBufferBytes = size_t{1} << 16;

std::atomic<int> first_error = 0;

bool WriteOut(absl::string_view bytes) {
  static const bool on_terminal = ::isatty(STDOUT_FILENO) != 0;
  if (on_terminal) return LiveLine::Get().Print(STDOUT_FILENO, bytes);
  while (!bytes.empty()) {
    const ssize_t written = ::write(STDOUT_FILENO, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

ssize_t WriteCookie(void*, const char* bytes, size_t count) {
  if (WriteOut({bytes, count})) return static_cast<ssize_t>(count);
  const int error = errno;
  if (error == EPIPE) EndForClosedPipe();
  int none = 0;
  first_error.compare_exchange_strong(none, error);
  errno = error;
  return 0;
}

}  // namespace

void OpenStandardOutput() {
  // Opened read-only for output and write-only for input, so that using them
  // fails.
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(fd, F_GETFD) != -1 || errno != EBADF) continue;
    const int opened =
        ::open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
    if (opened != fd && opened >= 0) ::close(opened);
  }
  FILE* const stream = ::fopencookie(nullptr, "w", {.write = WriteCookie});
  if (stream == nullptr) return;
  const bool on_terminal = ::isatty(STDOUT_FILENO) != 0;
  ::setvbuf(stream, nullptr, on_terminal ? _IOLBF : _IOFBF, kBufferBytes);
  stdout = stream;
}

absl::Status FlushStandardOutput() {
  if (::fflush(stdout) != 0 && first_error == 0) first_error = errno;
  if (first_error == 0) return absl::OkStatus();
  return absl::ErrnoToStatus(first_error, "standard output");
}

}  // namespace meshwright
