#include "meshwright/base/progress.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "meshwright/base/terminal.h"

namespace meshwright {
namespace {

constexpr auto kQuietTime = std::chrono::milliseconds(500);
constexpr int kBarWidth = 24;
constexpr int kLeastBarWidth = 4;
constexpr char kSpinner[] = {'|', '/', '-', '\\'};
constexpr double kTurn = 0.25;  // Seconds per character of the spinner.

std::string Elapsed(double seconds) {
  const auto whole = static_cast<int64_t>(seconds);
  if (whole < 60) return absl::StrCat(whole, " s");
  return absl::StrFormat("%d min %02d s", whole / 60, whole % 60);
}

std::string Bar(int64_t done, int64_t total, int width) {
  const auto filled = static_cast<size_t>(
      std::floor(static_cast<double>(done) / static_cast<double>(total) *
                 static_cast<double>(width)));
  const size_t all = static_cast<size_t>(width);
  return std::string(filled, '#') + std::string(all - filled, '.');
}

}  // namespace

std::string ProgressText(const ProgressState& state, int columns) {
  std::string text = absl::StrCat(state.what, " ");
  if (state.total > 0) {
    const int64_t done = std::clamp<int64_t>(state.done, 0, state.total);
    const std::string count =
        absl::StrCat(done, "/", state.total, "  ", Elapsed(state.seconds));
    // Narrow terminals get a short bar or none, but all numbers.
    const int room = columns - ColumnsOf(text) - ColumnsOf(count) - 3;
    const int width = std::min(kBarWidth, room);
    if (width >= kLeastBarWidth) {
      absl::StrAppend(&text, "[", Bar(done, state.total, width), "] ");
    }
    absl::StrAppend(&text, count);
  } else {
    const auto turn = static_cast<size_t>(state.seconds / kTurn);
    text += kSpinner[turn % std::size(kSpinner)];
    absl::StrAppend(&text, " ", Elapsed(state.seconds));
  }
  if (!state.note.empty()) absl::StrAppend(&text, "  ", state.note);
  return TruncateToColumns(text, columns);
}

Progress::Progress(std::string what, int64_t total)
    : what_(std::move(what)), total_(total) {
  LiveLine::Get().Add(this);
}

Progress::~Progress() { LiveLine::Get().Remove(this); }

void Progress::Advance(absl::string_view note) {
  if (!LiveLine::Get().shown()) return;
  const auto lock = LiveLine::Get().Lock();
  ++done_;
  note_ = std::string(note);
}

void Progress::Note(absl::string_view note) {
  if (!LiveLine::Get().shown()) return;
  const auto lock = LiveLine::Get().Lock();
  note_ = std::string(note);
}

std::string Progress::Text(int columns, LiveLine::Clock::time_point now) const {
  if (now - start_ < kQuietTime) return "";
  return ProgressText(
      {.what = what_,
       .done = done_,
       .total = total_,
       .note = note_,
       .seconds = std::chrono::duration<double>(now - start_).count()},
      columns);
}

}  // namespace meshwright
