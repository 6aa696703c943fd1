// A progress display on the terminal for long-running work.
//
//   Progress progress("training", 100);
//   for (...) progress.Advance("loss 2.31");
//     training [######..................] 27/100  4 s  loss 2.31
//
//   Progress progress("planning");            // The total is unknown.
//   progress.Advance("mesh data=4,model=2");
//     planning | 12 s  mesh data=4,model=2
//
// On stderr, and only if that is a terminal and the work has taken over half a
// second. The time is updated even if nothing is reported. The line makes way
// for other output, and is removed with the object.
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

  // Another piece is done, or has begun; a full bar stays full.
  void Advance(absl::string_view note = "");
  // Changes the note only.
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
