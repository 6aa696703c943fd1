#include "meshwright/base/live_line.h"

#include <unistd.h>

#include <cerrno>
#include <thread>

#include "meshwright/base/terminal.h"

namespace meshwright {
namespace {

constexpr auto kRedrawTime = std::chrono::milliseconds(100);
// The thread that holds the lock may be writing to a stopped terminal.
constexpr auto kCloseTime = std::chrono::milliseconds(500);
// A terminal shows Ctrl-C as ^C after the line, which must not wrap.
constexpr int kColumnsOfCtrlC = 2;
constexpr int kSpareColumns = kColumnsOfCtrlC + 1;

bool WriteAll(int fd, absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

std::string Blanks(int columns) {
  return std::string(static_cast<size_t>(columns), ' ');
}

}  // namespace

LiveLine& LiveLine::Get() {
  static auto* const line = new LiveLine();  // Threads may outlive main.
  return *line;
}

LiveLine::LiveLine() : shown_(CanRedraw(STDERR_FILENO)) {}

std::unique_lock<std::timed_mutex> LiveLine::Lock() {
  return std::unique_lock(lock_);
}

void LiveLine::Add(const Source* source) {
  if (!shown_) return;
  const auto lock = Lock();
  sources_.push_back(source);
  if (!ticking_) std::thread([this] { Tick(); }).detach();
  ticking_ = true;
  changed_.notify_all();
}

void LiveLine::Remove(const Source* source) {
  if (!shown_) return;
  const auto lock = Lock();
  std::erase(sources_, source);
  Erase();
}

bool LiveLine::Print(int fd, absl::string_view bytes) {
  const auto lock = Lock();
  Erase();
  const bool written = WriteAll(fd, bytes);
  const int error = errno;
  if (!bytes.empty()) mid_line_ = bytes.back() != '\n';
  Draw();
  errno = error;
  return written;
}

void LiveLine::Close() {
  if (!shown_) return;
  auto lock = std::unique_lock(lock_, kCloseTime);
  if (!lock.owns_lock()) return;
  Erase();
  lock.release();  // Stays locked, so that nothing is drawn any more.
}

void LiveLine::Tick() {
  auto lock = Lock();
  while (true) {
    changed_.wait(lock, [this] { return !sources_.empty(); });
    changed_.wait_for(lock, kRedrawTime);
    Draw();
  }
}

void LiveLine::Draw() {
  if (sources_.empty() || mid_line_) return;
  const int columns =
      TerminalColumns(STDERR_FILENO).value_or(0) - kSpareColumns;
  if (columns < 1) return Erase();
  const std::string text =
      TruncateToColumns(sources_.back()->Text(columns, Clock::now()), columns);
  if (text.empty()) return Erase();
  const int wide = ColumnsOf(text);
  std::string bytes = "\r" + text;
  // No escape codes: blanks overwrite the rest of the last line, and the cursor
  // returns.
  if (drawn_columns_ > wide) {
    bytes += Blanks(drawn_columns_ + kColumnsOfCtrlC - wide) + "\r" + text;
  }
  WriteAll(STDERR_FILENO, bytes);
  drawn_columns_ = wide;
}

void LiveLine::Erase() {
  if (drawn_columns_ == 0) return;
  WriteAll(STDERR_FILENO,
           "\r" + Blanks(drawn_columns_ + kColumnsOfCtrlC) + "\r");
  drawn_columns_ = 0;
}

}  // namespace meshwright
