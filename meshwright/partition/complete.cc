#include "meshwright/partition/complete.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "meshwright/base/status_macros.h"
#include "meshwright/partition/choices.h"
#include "meshwright/partition/sharding_groups.h"

namespace meshwright {
namespace {

constexpr int kMaxRounds = 6;
constexpr int32_t kManyOps = 20000;
// How many ops may choose again after one has changed against its own interest.
constexpr int kMaxFollowers = 16;
constexpr int kMaxJointRounds = 3;

class Completer {
 public:
  Completer(const FlatGraph& graph, const Pins& pins, const Mesh& mesh,
            const Prices& prices, Resharder& resharder)
      : graph_(graph), choices_(graph, pins, mesh, prices, resharder) {}

  absl::StatusOr<Assignment> Run(const std::vector<ShardingGroup>& groups) {
    for (const ShardingGroup& group : groups) {
      if (group.given.has_value()) choices_.Settle(group);
    }
    SearchFromAllStarts();
    bool settled = false;
    for (const ShardingGroup& group : groups) {
      if (group.given.has_value()) continue;
      choices_.Settle(group);
      settled = true;
    }
    if (settled) SearchFromAllStarts();
    MW_RETURN_IF_ERROR(choices_.CheckPins());
    return choices_.ToAssignment();
  }

 private:
  int32_t Count() const { return static_cast<int32_t>(graph_.ops.size()); }

  // Chooses for all ops: the best of several searches, whose results depend on
  // their starts. For long steps, which are repetitive, one start has to be
  // enough.
  void SearchFromAllStarts() {
    constexpr Choices::Preference kStarts[] = {
        {}, {true, {}}, {true, {true, false}}, {true, {true, true}}};
    std::vector<const Candidate*> best;
    double best_price = std::numeric_limits<double>::infinity();
    for (const Choices::Preference& start : kStarts) {
      if (&start != kStarts && Count() > kManyOps) break;
      choices_.SetAll(std::vector<const Candidate*>(Count(), nullptr));
      dirty_.assign(Count(), true);
      choices_.set_preference(start);
      VisitInOrder();
      choices_.set_preference({false, {true, true}});
      VisitDirty();
      const double price = choices_.TotalPrice();
      if (price >= best_price) continue;
      best = choices_.all();
      best_price = price;
    }
    choices_.SetAll(std::move(best));
    dirty_.assign(Count(), false);
    for (int round = 0; round < kMaxJointRounds && ChangeTogether(); ++round) {
      VisitDirty();
    }
  }

  // Visits each op once. Carries that start from a constant are visited after
  // the loop's body.
  void VisitInOrder() {
    std::vector<bool> deferred(Count(), false);
    std::multimap<OpId, OpId> carries;  // Keyed by the op that they precede.
    for (const Loop& loop : graph_.loops) {
      for (const OpId carry : loop.carries) {
        const FlatOp& op = graph_.ops[carry];
        if (!op.live) continue;
        const OpId start = graph_.values[op.operands[0]].producer;
        if (!choices_.IsCheapToRepeat(start)) continue;
        deferred[carry] = true;
        carries.emplace(loop.end, carry);
      }
    }
    for (OpId op{0}; op < Count(); ++op) {
      const auto [begin, end] = carries.equal_range(op);
      for (auto carry = begin; carry != end; ++carry) Visit(carry->second);
      if (!deferred[op]) Visit(op);
    }
    for (OpId op{0}; op < Count(); ++op) {
      if (graph_.ops[op].live && choices_.all()[op] == nullptr) Visit(op);
    }
  }

  // Visits the neighbours of changed ops until there are no more.
  void VisitDirty() {
    for (int round = 0; round < kMaxRounds; ++round) {
      bool changed = false;
      for (OpId i{0}; i < Count(); ++i) {
        const OpId op = round % 2 == 0 ? OpId{Count() - 1 - i} : i;
        if (dirty_[op]) changed = Visit(op) || changed;
      }
      if (!changed) break;
    }
  }

  // Chooses again for `id`; true if the choice changed.
  bool Visit(OpId id) {
    dirty_[id] = false;
    if (!graph_.ops[id].live) return false;
    const Candidate* const best = choices_.BestFor(id).candidate;
    if (best == choices_.all()[id]) return false;
    choices_.Choose(id, best);
    MarkNeighbours(id);
    return true;
  }

  void MarkNeighbours(OpId id) {
    neighbours_.clear();
    choices_.ListNeighbours(id, neighbours_);
    for (const OpId neighbour : neighbours_) dirty_[neighbour] = true;
    dirty_[id] = false;
  }

  // Looks for joint changes of several ops that pay off although no single one
  // does: a loop's accumulator can only be sharded together with what is added
  // to it; two users of the same complete sum that each need a part of it can
  // only ask for a part together. True if there were any.
  bool ChangeTogether() {
    bool changed = false;
    for (OpId id{Count()}; id-- > 0;) {
      if (graph_.ops[id].live) changed = ChangeWithNeighbours(id) || changed;
    }
    return changed;
  }

  // Changes `id` to match a neighbour, if the total is cheaper after its other
  // neighbours have followed, and no more is sent: fewer collectives alone are
  // no reason, since many of them will be combined.
  bool ChangeWithNeighbours(OpId id) {
    for (const Candidate* candidate : choices_.MatchingNeighbours(id)) {
      changes_.clear();
      const double gain = choices_.GainOf(id, *candidate);
      Change(id, candidate);
      const bool pays = gain + Follow(id) > choices_.Negligible();
      if (pays && SendsNoMore()) {
        for (const auto& [op, other] : changes_) MarkNeighbours(op);
        return true;
      }
      SwapChanges();
    }
    return false;
  }

  bool SendsNoMore() {
    std::vector<OpId> ops;
    for (const auto& [op, other] : changes_) ops.push_back(op);
    const double after = choices_.WireBytesAround(ops);
    SwapChanges();
    const double before = choices_.WireBytesAround(ops);
    SwapChanges();
    return after <= before * (1 + 1e-9);
  }

  // Undoes the recorded changes, or redoes them. No op has changed twice.
  void SwapChanges() {
    for (auto& [op, other] : changes_) {
      const Candidate* const now = choices_.all()[op];
      choices_.Choose(op, other);
      other = now;
    }
  }

  void Change(OpId id, const Candidate* candidate) {
    changes_.emplace_back(id, choices_.all()[id]);
    choices_.Choose(id, candidate);
  }

  // Lets the neighbours of `leader` choose again, and their neighbours. Returns
  // the gain.
  double Follow(OpId leader) {
    double gain = 0;
    followers_.clear();
    choices_.ListNeighbours(leader, followers_);
    int visits = 0;
    for (size_t next = 0; next < followers_.size(); ++next) {
      const OpId id = followers_[next];
      const bool again =
          std::find(followers_.begin(), followers_.begin() + next, id) !=
          followers_.begin() + next;
      if (id == leader || again) continue;
      if (++visits > kMaxFollowers) break;
      const Choices::Better better = choices_.BestFor(id);
      if (better.candidate == choices_.all()[id]) continue;
      Change(id, better.candidate);
      gain += better.gain;
      choices_.ListNeighbours(id, followers_);
    }
    return gain;
  }

  const FlatGraph& graph_;
  Choices choices_;
  std::vector<bool> dirty_;  // By op: a neighbour has changed.
  std::vector<OpId> neighbours_;
  std::vector<OpId> followers_;
  std::vector<std::pair<OpId, const Candidate*>> changes_;  // And from what.
};

}  // namespace

absl::StatusOr<Assignment> Complete(const FlatGraph& graph, const Pins& pins,
                                    const Mesh& mesh, const Prices& prices,
                                    Resharder& resharder) {
  MW_ASSIGN_OR_RETURN(const std::vector<ShardingGroup> groups,
                      ShardingGroups(graph, pins));
  return Completer(graph, pins, mesh, prices, resharder).Run(groups);
}

}  // namespace meshwright
