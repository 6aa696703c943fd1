// The progress line at the bottom of a terminal: on stderr, redrawn in place
// several times a second, and removed before anything else is printed and when
// the process ends.
//
// There is one per process. It shows Progress objects; lines for stdout go
// through Print, as `stdout` does on a terminal (standard_output.h).
// Thread-safe.
#ifndef MESHWRIGHT_BASE_LIVE_LINE_H_
#define MESHWRIGHT_BASE_LIVE_LINE_H_

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace meshwright {

class LiveLine {
 public:
  using Clock = std::chrono::steady_clock;

  // A source of the line's text.
  class Source {
   public:
    virtual ~Source() = default;
    // At most `columns` wide; empty: nothing to show yet. Called with the
    // line's lock held.
    virtual std::string Text(int columns, Clock::time_point now) const = 0;
  };

  static LiveLine& Get();

  // Whether stderr is a terminal on which a line can be redrawn. If not,
  // nothing is ever shown.
  bool shown() const { return shown_; }

  // The line shows the source that was added last, of those not removed.
  void Add(const Source* source);
  void Remove(const Source* source);
  // Must be held while a source changes.
  std::unique_lock<std::timed_mutex> Lock();

  // Writes all bytes to `fd`, a terminal; otherwise -1 with errno. The line is
  // removed first, and redrawn below once the output ends with a newline.
  bool Print(int fd, absl::string_view bytes);
  // Removes the line for good; waits only briefly, for use when the process
  // ends.
  void Close();

 private:
  LiveLine();

  void Tick();
  // With the lock held.
  void Draw();
  void Erase();

  const bool shown_;
  std::timed_mutex lock_;
  std::condition_variable_any changed_;
  std::vector<const Source*> sources_;
  bool ticking_ = false;
  bool mid_line_ = false;  // Other output has not ended its line.
  int drawn_columns_ = 0;  // Of the line drawn at present.
};

}  // namespace meshwright

#endif  // MESHWRIGHT_BASE_LIVE_LINE_H_
