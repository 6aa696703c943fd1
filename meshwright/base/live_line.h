// The line at the bottom of a terminal that says what is going on: on stderr,
// drawn again in place several times a second, gone before anything else is
// printed and when the process ends.
//
// There is one per process. What it shows comes from Progress objects; lines
// for stdout go through Print, which is what `stdout` does on a terminal
// (standard_output.h). Safe to use from several threads.
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

  // What the line may show.
  class Source {
   public:
    virtual ~Source() = default;
    // At most `columns` wide; empty for nothing yet. Called with the line's
    // lock held.
    virtual std::string Text(int columns, Clock::time_point now) const = 0;
  };

  static LiveLine& Get();

  // Whether stderr is a terminal on which a line can be drawn again. When it is
  // not, nothing is ever shown.
  bool shown() const { return shown_; }

  // The line shows what was added last and is still there.
  void Add(const Source* source);
  void Remove(const Source* source);
  // Held while a source changes.
  std::unique_lock<std::timed_mutex> Lock();

  // Writes to `fd`, a terminal, all or -1 with errno. The line makes way, and
  // comes back below once what was written ends with a line.
  bool Print(int fd, absl::string_view bytes);
  // Gone for good; waits a moment at most, for who ends the process.
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
  bool mid_line_ = false;  // Another's line has not ended.
  int drawn_columns_ = 0;  // What is drawn now.
};

}  // namespace meshwright

#endif  // MESHWRIGHT_BASE_LIVE_LINE_H_
