// Passes on what a child prints, line by line, with its name before each.
//
//   "[worker 2] step 7  loss 0.31\n"
#ifndef MESHWRIGHT_LAUNCH_LINE_RELAY_H_
#define MESHWRIGHT_LAUNCH_LINE_RELAY_H_

#include <functional>
#include <string>
#include <thread>

#include "absl/strings/string_view.h"

namespace meshwright {

// Cuts bytes that come in any pieces into lines.
class LineCutter {
 public:
  // Called with each line, its end and a '\r' before it removed. Lines longer
  // than 64 KiB are cut. Of a line drawn again in place only the last remains.
  explicit LineCutter(std::function<void(absl::string_view line)> line)
      : line_(std::move(line)) {}

  void Add(absl::string_view bytes);
  // What has no end of line yet is a line.
  void Finish();

 private:
  void Emit();

  std::function<void(absl::string_view line)> line_;
  std::string open_;
};

// Reads a pipe on a thread of its own. Lines go to `sink`, from that thread.
class LineRelay {
 public:
  using Sink = std::function<void(absl::string_view line)>;

  // Takes over `fd`.
  LineRelay(int fd, Sink sink);
  LineRelay(const LineRelay&) = delete;
  LineRelay& operator=(const LineRelay&) = delete;
  ~LineRelay() { Finish(); }

  // The writer has ended: passes on what is left and returns. What others, to
  // whom it left the pipe, write later is lost.
  void Finish();

 private:
  void Read();

  const int fd_;
  const int ending_;  // An eventfd, readable once the writer has ended.
  LineCutter lines_;
  std::thread thread_;
};

// Writes a line to stderr as a whole, also when several threads and the
// progress line (live_line.h) write there; with a name, "[name] line".
void PrintLine(absl::string_view line);
void PrintLineOf(absl::string_view name, absl::string_view line);

}  // namespace meshwright

#endif  // MESHWRIGHT_LAUNCH_LINE_RELAY_H_
