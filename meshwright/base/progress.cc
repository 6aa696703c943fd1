#include "meshwright/base/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "absl/strings/str_format.h"

namespace meshwright {
namespace {

constexpr auto kQuietTime = std::chrono::milliseconds(500);
constexpr auto kRedrawTime = std::chrono::milliseconds(100);
constexpr int kBarWidth = 24;

}  // namespace

Progress::Progress(std::string what, int64_t total)
    : what_(std::move(what)),
      total_(std::max<int64_t>(total, 1)),
      on_terminal_(isatty(STDERR_FILENO) != 0) {}

Progress::~Progress() {
  if (drawn_) std::fputs("\r\x1b[K", stderr);
}

void Progress::Advance(absl::string_view note) {
  ++done_;
  const Clock::time_point now = Clock::now();
  if (!on_terminal_ || now - start_ < kQuietTime) return;
  if (drawn_ && now - last_draw_ < kRedrawTime && done_ < total_) return;
  last_draw_ = now;
  Draw(note);
}

void Progress::Draw(absl::string_view note) {
  const auto filled = static_cast<int>(kBarWidth * done_ / total_);
  const std::string bar =
      std::string(filled, '#') + std::string(kBarWidth - filled, '.');
  absl::FPrintF(stderr, "\r\x1b[K%s [%s] %d/%d %s", what_, bar, done_, total_,
                note);
  std::fflush(stderr);
  drawn_ = true;
}

}  // namespace meshwright
