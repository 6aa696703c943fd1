// A line on the terminal that says how far a long piece of work has come.
//
//   Progress progress("training", 100);
//   for (...) progress.Advance("loss 2.31");
//     training [######..................] 27/100  4 s  loss 2.31
//
//   Progress progress("planning");            // Nobody knows how much it is.
//   progress.Advance("mesh data=4,model=2");
//     planning | 12 s  mesh data=4,model=2
//
// On stderr, and only when that is a terminal and the work has taken over half
// a second. Time goes on while nothing is reported. The line makes way for what
// is printed, and is gone when the object is.
#ifndef MESHWRIGHT_BASE_PROGRESS_H_
#define MESHWRIGHT_BASE_PROGRESS_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "meshwright/base/live_line.h"

namespace meshwright {

class Progress : private LiveLine::Source {
 public:
  // Without a total of at least 1 there is no bar.
  explicit Progress(std::string what, int64_t total = 0);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress() override;

  // One more piece is done, or another has begun; a bar stays full.
  void Advance(absl::string_view note = "");
  // The same work goes on, with other words.
  void Note(absl::string_view note);

 private:
  std::string Text(int columns, LiveLine::Clock::time_point now) const override;

  const std::string what_;
  const int64_t total_;
  int64_t done_ = 0;
  std::string note_;
  const LiveLine::Clock::time_point start_ = LiveLine::Clock::now();
};

// What the line shows, for tests and Progress itself.
struct ProgressState {
  absl::string_view what;
  int64_t done = 0;
  int64_t total = 0;
  absl::string_view note;
  double seconds = 0;
};
std::string ProgressText(const ProgressState& state, int columns);

}  // namespace meshwright

#endif  // MESHWRIGHT_BASE_PROGRESS_H_
