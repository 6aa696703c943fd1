#include "meshwright/runtime/step_done.h"

#include <algorithm>
#include <map>
#include <utility>

namespace meshwright {
namespace {

proto::Timed ToProto(int rank, const Action& action, double begin, double end) {
  proto::Timed timed;
  timed.set_rank(rank);
  timed.set_action(ToString(action));
  timed.set_begin(begin);
  timed.set_end(end);
  return timed;
}

}  // namespace

proto::StepDone ToProto(int64_t number, const StepReport& report,
                        bool timed_actions) {
  proto::StepDone done;
  done.set_step(number);
  done.set_seconds(report.seconds);
  done.set_has_loss(report.loss.has_value());
  done.set_loss(report.loss.value_or(0));
  double busy = 0;
  double waited = 0;
  for (const RankRecord& rank : report.ranks) {
    double own = 0;
    for (const TimedAction& timed : rank.actions) {
      own += timed.end - timed.begin;
      if (timed_actions) {
        *done.add_actions() =
            ToProto(rank.rank, timed.action, timed.begin, timed.end);
      }
    }
    busy = std::max(busy, own);
    waited = std::max(waited, rank.wire_seconds);
    if (!timed_actions) continue;
    for (const TimedTransfer& timed : rank.received) {
      proto::Timed& written = *done.add_actions();
      written = ToProto(rank.rank, timed.send, timed.begin, timed.end);
      written.set_bytes(timed.bytes);
    }
  }
  done.set_busy_seconds(busy);
  done.set_wire_seconds(waited);
  done.set_wire_bytes(report.wire_bytes);
  return done;
}

void AddTo(const proto::StepDone& done, StepReport& report) {
  report.seconds = std::max(report.seconds, done.seconds());
  if (done.has_loss()) report.loss = done.loss();
  report.wire_bytes += done.wire_bytes();
  report.workers.push_back({.seconds = done.seconds(),
                            .busy_seconds = done.busy_seconds(),
                            .wire_seconds = done.wire_seconds(),
                            .memory_bytes = done.memory_bytes()});
  std::map<int, RankRecord> ranks;
  for (const proto::Timed& timed : done.actions()) {
    const absl::StatusOr<Action> action = ParseAction(timed.action());
    if (!action.ok()) continue;
    RankRecord& rank = ranks[timed.rank()];
    if (IsTransfer(action->kind)) {
      rank.received.push_back({.send = *action,
                               .begin = timed.begin(),
                               .end = timed.end(),
                               .bytes = timed.bytes()});
    } else {
      rank.actions.push_back({*action, timed.begin(), timed.end()});
    }
  }
  for (auto& [number, rank] : ranks) {
    rank.rank = number;
    report.ranks.push_back(std::move(rank));
  }
}

}  // namespace meshwright
