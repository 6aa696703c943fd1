#include "meshwright/schedule/validate.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/base/units.h"
#include "meshwright/schedule/deadlock.h"

namespace meshwright {
namespace {

constexpr int kAround = 3;  // Cells shown before and after the wrong one.

// An error message. Cells are numbered from 0 here.
absl::Status Wrong(const Timetable& timetable, int rank, int cell,
                   absl::string_view what) {
  const std::vector<Action>& row = timetable.rows[rank];
  const int first = std::max(0, cell - kAround);
  const int last = std::min(static_cast<int>(row.size()), cell + kAround + 1);
  std::string piece = first > 0 ? "... " : "";
  for (int i = first; i < last; ++i) {
    absl::StrAppend(&piece, i == cell ? "=>" : "", ToString(row[i]),
                    i + 1 < last ? " " : "");
  }
  if (last < std::ssize(row)) absl::StrAppend(&piece, " ...");
  return absl::InvalidArgumentError(
      absl::StrCat("device ", rank, ", cell ", cell + 1, " (",
                   ToString(row[cell]), "): ", what, "; row: ", piece));
}

absl::Status CheckRows(const Timetable& timetable) {
  if (timetable.rows.empty() || timetable.rank_of_stage.empty() ||
      timetable.micro_batches < 1) {
    return absl::InvalidArgumentError("the timetable is empty");
  }
  for (StageId stage{0}; stage < timetable.stages(); ++stage) {
    const int rank = timetable.rank_of_stage[stage];
    if (rank < 0 || rank >= timetable.ranks()) {
      return absl::InvalidArgumentError(
          absl::StrCat("stage ", int{stage}, " is on device ", rank,
                       ", the timetable has ", timetable.ranks()));
    }
  }
  // Before anything is allocated whose size the timetable states.
  int64_t actions = 0;
  for (const std::vector<Action>& row : timetable.rows) {
    actions += std::ssize(row);
  }
  if (int64_t{timetable.stages()} * timetable.micro_batches > actions) {
    return absl::InvalidArgumentError(
        absl::StrCat("the timetable has ", actions, " actions: too few for ",
                     timetable.stages(), " stages and ",
                     timetable.micro_batches, " micro-batches"));
  }
  return absl::OkStatus();
}

// The cells, in its rank's row, of a stage's actions for a micro-batch.
struct Cells {
  int forward = -1;
  int gradient = -1;  // B or I.
  int weight = -1;    // B or W.
};

class Validator {
 public:
  Validator(const Timetable& timetable, const PipelineCosts& costs)
      : timetable_(timetable),
        costs_(costs),
        cells_(timetable.rank_of_stage.size() *
               size_t(timetable.micro_batches)) {}

  absl::Status CheckComputation() {
    for (int rank = 0; rank < timetable_.ranks(); ++rank) {
      const std::vector<Action>& row = timetable_.rows[rank];
      for (int cell = 0; cell < std::ssize(row); ++cell) {
        const std::string fault = Note(row[cell], rank, cell);
        if (!fault.empty()) return Wrong(timetable_, rank, cell, fault);
      }
    }
    for (StageId stage{0}; stage < timetable_.stages(); ++stage) {
      for (int m = 0; m < timetable_.micro_batches; ++m) {
        MW_RETURN_IF_ERROR(CheckOrder(stage, m));
      }
    }
    return absl::OkStatus();
  }

  absl::Status CheckTransfers() {
    for (const StageEdge& edge : costs_.edges) {
      if (RankOf(edge.from) == RankOf(edge.to)) continue;
      for (int m = 0; m < timetable_.micro_batches; ++m) {
        const Action forward = {.stage = edge.from,
                                .kind = ActionKind::kSendForward,
                                .micro_batch = m,
                                .peer = edge.to};
        const Action backward = {.stage = edge.to,
                                 .kind = ActionKind::kSendBackward,
                                 .micro_batch = m,
                                 .peer = edge.from};
        MW_RETURN_IF_ERROR(CheckTransfer(forward, At(edge.from, m).forward,
                                         At(edge.to, m).forward));
        MW_RETURN_IF_ERROR(CheckTransfer(backward, At(edge.to, m).gradient,
                                         At(edge.from, m).gradient));
      }
    }
    if (transfers_.empty()) return absl::OkStatus();
    const auto& [action, place] = *transfers_.begin();
    return Wrong(
        timetable_, place.first, place.second,
        absl::StrCat("nothing flows between stages ", int{action.stage},
                     " and ", int{action.peer}, " this way"));
  }

 private:
  using Place = std::pair<int, int>;  // Rank and cell.
  struct Less {
    bool operator()(const Action& a, const Action& b) const {
      return std::tie(a.stage, a.kind, a.micro_batch, a.peer) <
             std::tie(b.stage, b.kind, b.micro_batch, b.peer);
    }
  };

  int RankOf(StageId stage) const { return timetable_.rank_of_stage[stage]; }
  Cells& At(StageId stage, int micro_batch) {
    return cells_[int64_t{stage} * timetable_.micro_batches + micro_batch];
  }

  // Records the position of the action; returns what is wrong with it, or an
  // empty string.
  std::string Note(const Action& action, int rank, int cell) {
    if (action.stage < 0 || action.stage >= timetable_.stages()) {
      return absl::StrCat("there are ", timetable_.stages(), " stages");
    }
    if (action.micro_batch < 0 ||
        action.micro_batch >= timetable_.micro_batches) {
      return absl::StrCat("there are ", timetable_.micro_batches,
                          " micro-batches");
    }
    if (RankOf(action.stage) != rank) {
      return absl::StrCat("stage ", int{action.stage}, " is on device ",
                          RankOf(action.stage));
    }
    if (action.kind == ActionKind::kApply) {
      return "gradients are applied after the timetable, not in it";
    }
    if (IsTransfer(action.kind)) {
      if (transfers_.try_emplace(action, rank, cell).second) return "";
      return absl::StrCat("the same is in cell ", transfers_[action].second + 1,
                          " already");
    }
    Cells& cells = At(action.stage, action.micro_batch);
    const auto keep = [&](int& place) -> std::string {
      if (place >= 0) {
        return absl::StrCat("done already in cell ", place + 1, " (",
                            ToString(timetable_.rows[rank][place]), ")");
      }
      place = cell;
      return "";
    };
    if (action.kind == ActionKind::kForward) return keep(cells.forward);
    if (action.kind == ActionKind::kInputGrad) return keep(cells.gradient);
    if (action.kind == ActionKind::kWeightGrad) return keep(cells.weight);
    const std::string fault = keep(cells.gradient);
    return fault.empty() ? keep(cells.weight) : fault;
  }

  absl::Status CheckOrder(StageId stage, int micro_batch) {
    const Cells& cells = At(stage, micro_batch);
    const auto missing = [&](ActionKind kind, absl::string_view what) {
      return absl::InvalidArgumentError(absl::StrCat(
          "device ", RankOf(stage), " never runs ",
          ToString(Action{stage, kind, micro_batch}), ": the ", what,
          " of micro-batch ", micro_batch, " in stage ", int{stage}));
    };
    if (cells.forward < 0) return missing(ActionKind::kForward, "forward");
    if (cells.gradient < 0) {
      return cells.weight < 0
                 ? missing(ActionKind::kBackward, "backward")
                 : missing(ActionKind::kInputGrad, "input gradients");
    }
    if (cells.weight < 0) {
      return missing(ActionKind::kWeightGrad, "weight gradients");
    }
    if (cells.gradient < cells.forward) {
      return Later(cells.gradient, cells.forward, "its forward", stage);
    }
    if (cells.weight < cells.gradient) {
      return Later(cells.weight, cells.gradient, "its input gradients", stage);
    }
    return absl::OkStatus();
  }

  absl::Status Later(int cell, int other, absl::string_view what,
                     StageId stage) {
    const int rank = RankOf(stage);
    return Wrong(
        timetable_, rank, cell,
        absl::StrCat(what, ", ", ToString(timetable_.rows[rank][other]),
                     ", comes later, in cell ", other + 1));
  }

  // `made` and `needed` are cells in the rows of the sending and receiving
  // rank.
  absl::Status CheckTransfer(const Action& send, int made, int needed) {
    const Action receive = OtherEnd(send);
    for (const Action& end : {send, receive}) {
      const auto found = transfers_.find(end);
      if (found == transfers_.end()) {
        return absl::InvalidArgumentError(
            absl::StrCat("device ", RankOf(end.stage), " never runs ",
                         ToString(end), ", but other transfers are listed"));
      }
      const auto [rank, cell] = found->second;
      const bool early = IsSend(end.kind) && cell < made;
      if (early || (!IsSend(end.kind) && cell > needed)) {
        const int other = early ? made : needed;
        return Wrong(
            timetable_, rank, cell,
            absl::StrCat("what ", early ? "it sends is made" : "needs it comes",
                         early ? " later, in cell " : " before, in cell ",
                         other + 1, " (",
                         ToString(timetable_.rows[rank][other]), ")"));
      }
      transfers_.erase(found);
    }
    return absl::OkStatus();
  }

  const Timetable& timetable_;
  const PipelineCosts& costs_;
  std::vector<Cells> cells_;
  std::map<Action, Place, Less> transfers_;
};

absl::Status CheckMemory(const Timetable& timetable,
                         const PipelineCosts& costs) {
  if (costs.memory_bytes.empty()) return absl::OkStatus();
  const std::vector<int64_t> peaks = PeakHeldBytes(timetable, costs);
  for (int rank = 0; rank < timetable.ranks(); ++rank) {
    if (peaks[rank] <= costs.memory_bytes[rank]) continue;
    return absl::ResourceExhaustedError(absl::StrCat(
        "device ", rank, " holds ", FormatBytes(peaks[rank]),
        " at its peak, its memory is ", FormatBytes(costs.memory_bytes[rank])));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status Validate(const Timetable& timetable, const PipelineCosts& costs,
                      const ValidateOptions& options) {
  MW_RETURN_IF_ERROR(CheckRows(timetable));
  MW_RETURN_IF_ERROR(CheckCosts(costs, timetable.stages(), timetable.ranks()));
  Validator validator(timetable, costs);
  MW_RETURN_IF_ERROR(validator.CheckComputation());
  if (timetable.has_transfers()) {
    MW_RETURN_IF_ERROR(validator.CheckTransfers());
  }
  MW_RETURN_IF_ERROR(CheckDeadlock(timetable, costs, options.parked_sends));
  return CheckMemory(timetable, costs);
}

std::vector<int64_t> PeakHeldBytes(const Timetable& timetable,
                                   const PipelineCosts& costs) {
  std::vector<int64_t> peaks;
  for (const std::vector<Action>& row : timetable.rows) {
    int64_t held = 0;
    int64_t peak = 0;
    for (const Action& action : row) {
      const StageCost& cost = costs.stages[action.stage];
      switch (action.kind) {
        case ActionKind::kForward:
          held += cost.held_bytes;
          break;
        case ActionKind::kInputGrad:
          held += cost.KeptBytes() - cost.held_bytes;
          break;
        case ActionKind::kWeightGrad:
          held -= cost.KeptBytes();
          break;
        case ActionKind::kBackward:
          peak = std::max(peak, held + cost.MoreInBackward());
          held -= cost.held_bytes;
          break;
        default:
          break;
      }
      peak = std::max(peak, held);
    }
    peaks.push_back(peak);
  }
  return peaks;
}

}  // namespace meshwright
