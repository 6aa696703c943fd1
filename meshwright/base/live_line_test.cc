#include "meshwright/base/live_line.h"

#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>

#include "gtest/gtest.h"

namespace meshwright {
namespace {

void Show(absl::string_view bytes) {
  if (::write(STDERR_FILENO, bytes.data(), bytes.size()) < 0) _exit(1);
}

class Line : public LiveLine::Source {
 public:
  std::string Text(int, LiveLine::Clock::time_point) const override {
    ++draws;
    return text;
  }
  void WaitUntilDrawn() const {
    // The first of them may have begun before: the second has seen it all.
    for (const int seen = draws; draws < seen + 2;) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }

  std::string text;
  mutable std::atomic<int> draws = 0;
};

// What a terminal shows in one line after `bytes`.
std::string Shown(const std::string& bytes) {
  std::string line;
  size_t column = 0;
  for (const char byte : bytes) {
    if (byte == '\r') {
      column = 0;
    } else if (byte != '\n') {
      line.resize(std::max(line.size(), column + 1), ' ');
      line[column++] = byte;
    }
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

// The terminal shows ^C where the cursor is; the line may then become shorter
// before it goes. A death test, as it forks: these run before others have
// threads.
TEST(LiveLineDeathTest, NothingIsLeftOfCtrlC) {
  winsize size = {.ws_row = 24, .ws_col = 60};
  int terminal = -1;
  const pid_t child = ::forkpty(&terminal, nullptr, nullptr, &size);
  if (child == 0) {
    ::setenv("TERM", "xterm", 1);
    Line line;
    line.text = "a line that is long";
    LiveLine::Get().Add(&line);
    line.WaitUntilDrawn();
    Show("^C");
    {
      const auto lock = LiveLine::Get().Lock();
      line.text = "short";
    }
    line.WaitUntilDrawn();
    LiveLine::Get().Close();
    Show("\rend\n");
    _exit(0);
  }
  std::string bytes;
  char part[256];
  for (ssize_t count = 0; (count = ::read(terminal, part, sizeof part)) > 0;) {
    bytes.append(part, static_cast<size_t>(count));
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  ::close(terminal);
  EXPECT_EQ(status, 0);
  EXPECT_NE(bytes.find("short"), std::string::npos) << bytes;
  EXPECT_EQ(Shown(bytes), "end");
}

}  // namespace
}  // namespace meshwright
