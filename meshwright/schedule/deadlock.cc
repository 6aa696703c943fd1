#include "meshwright/schedule/deadlock.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace meshwright {
namespace {

// What an action waits for: another action, done or not.
struct Wait {
  Action action;
  int rank = 0;
};

// Executes the rows without a clock.
class Rows {
 public:
  Rows(const Timetable& timetable, const PipelineCosts& costs, int parked_sends)
      : timetable_(timetable),
        explicit_transfers_(timetable.has_transfers()),
        parked_sends_(parked_sends),
        next_(timetable.rows.size()),
        before_(timetable.rank_of_stage.size()),
        after_(timetable.rank_of_stage.size()) {
    for (const StageEdge& edge : costs.edges) {
      before_[edge.to].push_back(edge.from);
      after_[edge.from].push_back(edge.to);
    }
    const size_t tasks =
        timetable.rank_of_stage.size() * size_t(timetable.micro_batches);
    forward_done_.resize(tasks);
    gradient_done_.resize(tasks);
  }

  absl::Status WorkOff() {
    std::vector<int> awake;
    std::vector<std::vector<int>> waiting(timetable_.rows.size());
    for (int rank = 0; rank < timetable_.ranks(); ++rank) {
      awake.push_back(rank);
    }
    while (!awake.empty()) {
      const int rank = awake.back();
      awake.pop_back();
      bool advanced = false;
      while (!AtEnd(rank)) {
        const std::optional<Wait> blocker = Blocker(rank);
        if (blocker.has_value()) {
          waiting[blocker->rank].push_back(rank);
          break;
        }
        Do(Current(rank));
        ++next_[rank];
        advanced = true;
      }
      if (!advanced) continue;
      awake.insert(awake.end(), waiting[rank].begin(), waiting[rank].end());
      waiting[rank].clear();
    }
    for (int rank = 0; rank < timetable_.ranks(); ++rank) {
      if (!AtEnd(rank)) return Explain(rank);
    }
    return absl::OkStatus();
  }

 private:
  using Key = std::pair<int, int>;  // Sending rank, receiving rank.

  bool AtEnd(int rank) const {
    return next_[rank] == timetable_.rows[rank].size();
  }
  const Action& Current(int rank) const {
    return timetable_.rows[rank][next_[rank]];
  }
  int64_t TaskId(StageId stage, int micro_batch) const {
    return int64_t{stage} * timetable_.micro_batches + micro_batch;
  }
  int RankOf(StageId stage) const { return timetable_.rank_of_stage[stage]; }
  Key LinkOf(const Action& send) const {
    return {RankOf(send.stage), RankOf(send.peer)};
  }

  // What must happen on another rank before this one can continue.
  std::optional<Wait> Blocker(int rank) const {
    const Action& action = Current(rank);
    if (IsTransfer(action.kind)) return TransferBlocker(action);
    // If the timetable lists transfers, it was checked that they come in
    // between.
    const bool forward = action.kind == ActionKind::kForward;
    if (!forward && !TakesGradients(action.kind)) return std::nullopt;
    for (const StageId stage :
         forward ? before_[action.stage] : after_[action.stage]) {
      if (explicit_transfers_ && RankOf(stage) != rank) continue;
      const auto& done = forward ? forward_done_ : gradient_done_;
      if (done[TaskId(stage, action.micro_batch)]) continue;
      return Wait{
          {.stage = stage,
           .kind = forward ? ActionKind::kForward : ActionKind::kBackward,
           .micro_batch = action.micro_batch},
          RankOf(stage)};
    }
    return std::nullopt;
  }

  std::optional<Wait> TransferBlocker(const Action& action) const {
    if (!IsSend(action.kind)) {
      const Action send = OtherEnd(action);
      if (std::ranges::count(Parked(LinkOf(send)), send) > 0) {
        return std::nullopt;
      }
      return Wait{send, RankOf(send.stage)};
    }
    // If no send can be parked, both ends must be ready at the same time.
    const std::vector<Action>& parked = Parked(LinkOf(action));
    const Action receive = OtherEnd(action);
    const int to = RankOf(receive.stage);
    if (std::ssize(parked) < parked_sends_) return std::nullopt;
    if (parked.empty()) {
      if (!AtEnd(to) && Current(to) == receive) return std::nullopt;
      return Wait{receive, to};
    }
    return Wait{OtherEnd(parked.front()), to};
  }

  const std::vector<Action>& Parked(const Key& link) const {
    static const auto* const none = new std::vector<Action>();
    const auto found = parked_.find(link);
    return found == parked_.end() ? *none : found->second;
  }

  // The action as its row has it: a backward that is waited for may be an input
  // gradient. Searches the row.
  Action AsInRow(const Action& waited) const {
    if (waited.kind != ActionKind::kBackward) return waited;
    for (const Action& action : timetable_.rows[RankOf(waited.stage)]) {
      if (action.stage == waited.stage &&
          action.micro_batch == waited.micro_batch &&
          TakesGradients(action.kind)) {
        return action;
      }
    }
    return waited;
  }

  void Do(const Action& action) {
    if (IsTransfer(action.kind)) {
      if (IsSend(action.kind)) {
        parked_[LinkOf(action)].push_back(action);
      } else {
        std::erase(parked_[LinkOf(OtherEnd(action))], OtherEnd(action));
      }
    } else if (action.kind == ActionKind::kForward) {
      forward_done_[TaskId(action.stage, action.micro_batch)] = true;
    } else if (TakesGradients(action.kind)) {
      gradient_done_[TaskId(action.stage, action.micro_batch)] = true;
    }
  }

  // Follows the chain of waiting ranks until it closes.
  absl::Status Explain(int rank) const {
    std::vector<int> path;
    while (std::ranges::count(path, rank) == 0) {
      path.push_back(rank);
      rank = Blocker(rank)->rank;
    }
    path.erase(path.begin(), std::ranges::find(path, rank));
    std::string text = "deadlock: ";
    for (size_t i = 0; i < path.size(); ++i) {
      absl::StrAppend(&text, i == 0 ? "" : ", ", "device ", path[i],
                      " waits in cell ", next_[path[i]] + 1, " (",
                      ToString(Current(path[i])), ") for ",
                      ToString(AsInRow(Blocker(path[i])->action)));
    }
    absl::StrAppend(&text, ", which comes later on device ", path.front());
    return absl::InvalidArgumentError(text);
  }

  const Timetable& timetable_;
  bool explicit_transfers_;
  int parked_sends_;
  std::vector<size_t> next_;
  std::vector<std::vector<StageId>> before_, after_;  // By stage.
  std::vector<bool> forward_done_, gradient_done_;
  std::map<Key, std::vector<Action>> parked_;
};

}  // namespace

absl::Status CheckDeadlock(const Timetable& timetable,
                           const PipelineCosts& costs, int parked_sends) {
  return Rows(timetable, costs, parked_sends).WorkOff();
}

}  // namespace meshwright
