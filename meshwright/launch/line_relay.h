// Relays the output of a child line by line, with its name before each line.
//
//   "[worker 2] step 7  loss 0.31\n"
#ifndef MESHWRIGHT_LAUNCH_LINE_RELAY_H_
#define MESHWRIGHT_LAUNCH_LINE_RELAY_H_

#include <functional>
#include <string>
#include <thread>

#include "absl/strings/string_view.h"

namespace meshwright {

// Splits a stream of bytes into lines.
class LineCutter {
 public:
  // Called with each line, without its newline and a '\r' before it. Lines
  // longer than 64 KiB are truncated. Of a line redrawn in place only the last
  // version remains.
  explicit LineCutter(std::function<void(absl::string_view line)> line)
      : line_(std::move(line)) {}

  void Add(absl::string_view bytes);
  // Treats an incomplete last line as a line.
  void Finish();

 private:
  void Emit();

  std::function<void(absl::string_view line)> line_;
  std::string open_;
};

// Reads a pipe on a thread of its own, and passes lines to `sink` on that
// thread.
class LineRelay {
 public:
  using Sink = std::function<void(absl::string_view line)>;

  // Takes ownership of `fd`.
  LineRelay(int fd, Sink sink);
  LineRelay(const LineRelay&) = delete;
  LineRelay& operator=(const LineRelay&) = delete;
  ~LineRelay() { Finish(); }

  // Call when the writer has ended: relays what is left and returns. Later
  // output of others that inherited the pipe is lost.
  void Finish();

 private:
  void Read();

  const int fd_;
  const int ending_;  // An eventfd, readable once the writer has ended.
  LineCutter lines_;
  std::thread thread_;
};

// Writes a line to stderr atomically, also with concurrent threads and the
// progress line (live_line.h); with a name, "[name] line".
void PrintLine(absl::string_view line);
void PrintLineOf(absl::string_view name, absl::string_view line);

}  // namespace meshwright

#endif  // MESHWRIGHT_LAUNCH_LINE_RELAY_H_
