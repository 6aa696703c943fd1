#include "meshwright/launch/line_relay.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <mutex>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "meshwright/base/live_line.h"

namespace meshwright {
namespace {

constexpr size_t kLongestLine = size_t{64} << 10;
// After a writer has ended, its pipe is read until it has been silent for this
// long.
constexpr int kQuietMilliseconds = 50;

}  // namespace

void LineCutter::Emit() {
  absl::string_view line = open_;
  absl::ConsumeSuffix(&line, "\r");
  const size_t redrawn = line.rfind('\r');
  if (redrawn != absl::string_view::npos) line.remove_prefix(redrawn + 1);
  line_(line);
  open_.clear();
}

void LineCutter::Add(absl::string_view bytes) {
  while (!bytes.empty()) {
    const size_t end = bytes.find('\n');
    const size_t part =
        std::min({end, bytes.size(), kLongestLine - open_.size()});
    open_.append(bytes.data(), part);
    const bool ends = part == end;
    if (ends || open_.size() == kLongestLine) Emit();
    bytes.remove_prefix(part + (ends ? 1 : 0));
  }
}

void LineCutter::Finish() {
  if (!open_.empty()) Emit();
}

LineRelay::LineRelay(int fd, Sink sink)
    : fd_(fd),
      ending_(::eventfd(0, EFD_CLOEXEC)),
      lines_(std::move(sink)),
      thread_([this] { Read(); }) {}

void LineRelay::Read() {
  std::string buffer(size_t{64} << 10, '\0');
  bool ending = false;
  while (true) {
    pollfd events[] = {{.fd = fd_, .events = POLLIN, .revents = 0},
                       {.fd = ending_, .events = POLLIN, .revents = 0}};
    const int ready =
        ending ? ::poll(events, 1, kQuietMilliseconds) : ::poll(events, 2, -1);
    if (ready < 0) continue;  // EINTR
    if (ready == 0) break;
    ending = ending || events[1].revents != 0;
    if (events[0].revents == 0) continue;
    const ssize_t got = ::read(fd_, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    lines_.Add(absl::string_view(buffer.data(), static_cast<size_t>(got)));
  }
  lines_.Finish();
}

void LineRelay::Finish() {
  if (!thread_.joinable()) return;
  ::eventfd_write(ending_, 1);
  thread_.join();
  ::close(fd_);
  ::close(ending_);
}

void PrintLine(absl::string_view line) {
  const std::string text = absl::StrCat(line, "\n");
  LiveLine& live = LiveLine::Get();
  if (live.shown()) {
    live.Print(STDERR_FILENO, text);
    return;
  }
  static auto* const lock = new std::mutex();
  const std::lock_guard hold(*lock);
  absl::string_view rest = text;
  while (!rest.empty()) {
    const ssize_t wrote = ::write(STDERR_FILENO, rest.data(), rest.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return;  // There is no reader.
    rest.remove_prefix(static_cast<size_t>(wrote));
  }
}

void PrintLineOf(absl::string_view name, absl::string_view line) {
  PrintLine(absl::StrCat("[", name, "] ", line));
}

}  // namespace meshwright
