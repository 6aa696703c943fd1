#include "meshwright/schedule/grid.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "meshwright/base/units.h"
#include "meshwright/schedule/timetable.h"

namespace meshwright {
namespace {

constexpr int kMaxBands = 1000;

// A column of a row: its character and colour.
struct Cell {
  char text = ' ';
  ActionKind kind = ActionKind::kForward;
  bool busy = false;
};

const char* Colour(ActionKind kind) {
  switch (kind) {
    case ActionKind::kForward:
      return "\033[48;5;153;38;5;16m";
    case ActionKind::kWeightGrad:
      return "\033[48;5;223;38;5;16m";
    case ActionKind::kApply:
      return "\033[48;5;182;38;5;16m";
    default:
      return "\033[48;5;151;38;5;16m";
  }
}
constexpr const char* kPlain = "\033[0m";

class Grid {
 public:
  Grid(const Simulation& run, const std::vector<int>& rank_of_stage,
       const GridOptions& options)
      : run_(run), options_(options) {
    letters_.resize(rank_of_stage.size());
    const auto stages =
        StagesByRank(rank_of_stage, static_cast<int>(run.rows.size()));
    for (const std::vector<StageId>& of_rank : stages) {
      if (of_rank.size() < 2) continue;
      for (size_t i = 0; i < of_rank.size(); ++i) {
        letters_[of_rank[i]] = static_cast<char>('a' + i % 26);
      }
    }
    label_width_ = absl::StrCat(run.rows.size() - 1).size() + 1;
    width_ = std::max<int64_t>(
        20, options.columns - static_cast<int64_t>(label_width_));
    Scale();
  }

  std::string Draw() const {
    std::vector<std::vector<Cell>> rows;
    for (const std::vector<TimedAction>& row : run_.rows) {
      rows.push_back(Paint(row));
    }
    std::string text;
    const int64_t bands = (length_ + width_ - 1) / width_;
    const bool all = bands <= options_.max_bands;
    const int64_t first_bands = all ? bands : options_.max_bands - 1;
    for (int64_t band = 0; band < first_bands; ++band) {
      DrawBand(rows, band * width_, text);
    }
    if (all) return text;
    const int64_t last = (length_ - width_ + action_columns_ - 1) /
                         action_columns_ * action_columns_;
    absl::StrAppendFormat(&text, "%*s... %s\n", label_width_, "",
                          FormatSeconds(Seconds(last - first_bands * width_)));
    DrawBand(rows, last, text);
    return text;
  }

 private:
  double Seconds(int64_t column) const {
    return static_cast<double>(column) / scale_;
  }
  int64_t Column(double seconds) const {
    return std::llround(seconds * scale_);
  }

  std::string Label(const Action& action) const {
    std::string text(KindText(action.kind));
    if (letters_[action.stage] != 0) text += letters_[action.stage];
    if (action.kind != ActionKind::kApply) {
      absl::StrAppend(&text, action.micro_batch);
    }
    return text;
  }

  // Chooses the scale so that the label of a typical action fits, or the whole
  // timetable fills the width.
  void Scale() {
    std::vector<double> durations;
    int64_t longest = 1;
    for (const std::vector<TimedAction>& row : run_.rows) {
      for (const TimedAction& timed : row) {
        if (timed.end <= timed.begin) continue;
        durations.push_back(timed.end - timed.begin);
        longest = std::max(longest, std::ssize(Label(timed.action)));
      }
    }
    if (durations.empty()) return;
    // A quarter of the actions may be too short for their labels.
    auto quarter = durations.begin() + std::ssize(durations) / 4;
    std::nth_element(durations.begin(), quarter, durations.end());
    const double fill = static_cast<double>(width_) / run_.step_seconds;
    // Columns of a typical action: its label and a blank, a whole number if
    // there is room; slightly less if everything then fits into one band.
    double columns = fill * *quarter;
    const double wanted = static_cast<double>(longest) + 1;
    if (columns >= wanted) {
      columns = std::floor(columns);
    } else if (columns < wanted - 0.1) {
      columns = wanted;
      // If actions are equally long, bands end with an action.
      action_columns_ = longest + 1;
      width_ = std::max(width_ / action_columns_, int64_t{1}) * action_columns_;
    }
    // If durations are very uneven, labels are cut rather than drawing too many
    // bands.
    scale_ = std::min(columns / *quarter, fill * kMaxBands);
    length_ = Column(run_.step_seconds);
  }

  std::vector<Cell> Paint(const std::vector<TimedAction>& row) const {
    std::vector<Cell> cells(static_cast<size_t>(length_));
    for (const TimedAction& timed : row) {
      const int64_t begin = Column(timed.begin);
      const int64_t end = std::min(Column(timed.end), length_);
      const std::string label = Label(timed.action);
      for (int64_t at = begin; at < end; ++at) {
        const size_t i = static_cast<size_t>(at - begin);
        // Without colours, only the letters distinguish actions.
        const char fill = options_.colour ? ' ' : '-';
        cells[at] = {i < label.size() ? label[i] : fill, timed.action.kind,
                     true};
      }
      if (end - begin > static_cast<int64_t>(label.size())) {
        cells[end - 1].text = ' ';
      }
    }
    return cells;
  }

  void Axis(int64_t first, std::string& text) const {
    constexpr int64_t kStep = 20;
    const double step = run_.step_seconds;
    const char* unit = step >= 1 ? " s" : step >= 1e-3 ? " ms" : " us";
    const double factor = step >= 1 ? 1 : step >= 1e-3 ? 1e3 : 1e6;
    std::string line;
    // No mark so close to the end that its label would not fit.
    const int64_t end = std::min(first + width_, length_) - kStep / 2;
    for (int64_t at = first; at == first || at <= end; at += kStep) {
      line.resize(static_cast<size_t>(at - first), ' ');
      absl::StrAppendFormat(&line, "|%.4g%s", Seconds(at) * factor, unit);
    }
    absl::StrAppendFormat(&text, "%*s%s\n", label_width_, "", line);
  }

  void DrawBand(const std::vector<std::vector<Cell>>& rows, int64_t first,
                std::string& text) const {
    Axis(first, text);
    for (size_t rank = 0; rank < rows.size(); ++rank) {
      absl::StrAppendFormat(&text, "%*d ", label_width_ - 1, rank);
      DrawRow(rows[rank], first, text);
    }
  }

  void DrawRow(const std::vector<Cell>& row, int64_t first,
               std::string& text) const {
    const char* colour = nullptr;
    int64_t last = std::min(first + width_, length_);
    while (last > first && !row[last - 1].busy) --last;
    for (int64_t at = first; at < last; ++at) {
      const Cell& cell = row[at];
      if (options_.colour) {
        const char* wanted = cell.busy ? Colour(cell.kind) : kPlain;
        if (wanted != colour) absl::StrAppend(&text, wanted);
        colour = wanted;
      }
      text += cell.text;
    }
    if (options_.colour) absl::StrAppend(&text, kPlain);
    while (!text.empty() && text.back() == ' ') text.pop_back();
    text += '\n';
  }

  const Simulation& run_;
  GridOptions options_;
  std::vector<char> letters_;  // By stage; 0 if the rank has only one.
  size_t label_width_ = 2;
  int64_t width_ = 0;
  // Columns of a typical action if there are bands.
  int64_t action_columns_ = 1;
  double scale_ = 1;  // Columns per second.
  int64_t length_ = 1;
};

}  // namespace

std::string DrawGrid(const Simulation& run,
                     const std::vector<int>& rank_of_stage,
                     const GridOptions& options) {
  return Grid(run, rank_of_stage, options).Draw();
}

}  // namespace meshwright
