// A line on the terminal that says how far a long piece of work has come.
//
//   Progress progress("training", 100);
//   for (...) progress.Advance("loss 2.31");
//
// Writes to stderr, and only when that is a terminal and the work has taken
// over half a second. The line is gone when the object is.
#ifndef MESHWRIGHT_BASE_PROGRESS_H_
#define MESHWRIGHT_BASE_PROGRESS_H_

#include <chrono>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace meshwright {

class Progress {
 public:
  Progress(std::string what, int64_t total);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress();

  void Advance(absl::string_view note = "");

 private:
  void Draw(absl::string_view note);

  using Clock = std::chrono::steady_clock;
  std::string what_;
  int64_t total_;
  int64_t done_ = 0;
  bool on_terminal_;
  bool drawn_ = false;
  Clock::time_point start_ = Clock::now();
  Clock::time_point last_draw_ = start_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_BASE_PROGRESS_H_
