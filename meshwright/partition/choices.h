// The strategies chosen so far for the ops of a graph, and the cost of each
// next to its neighbours: resharding operands, computing, resharding results.
//
//   Choices choices(graph, pins, mesh, prices, resharder);
//   const Choices::Better better = choices.BestFor(op);
//   choices.Choose(op, better.candidate);   // Cheaper by better.gain.
//
// A value that several users need in the same sharding in the same place is
// resharded once; the reshard is free for every user but the first.
#ifndef MESHWRIGHT_PARTITION_CHOICES_H_
#define MESHWRIGHT_PARTITION_CHOICES_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "meshwright/partition/assignment.h"
#include "meshwright/partition/candidates.h"
#include "meshwright/partition/op_pins.h"
#include "meshwright/partition/sharding_groups.h"
#include "meshwright/reshard/reshard.h"

namespace meshwright {

class Choices {
 public:
  // How to choose while some neighbours are still without a strategy.
  struct Preference {
    // Deferred reductions: among equally cheap candidates prefer those that
    // leave partial sums pending, as they may be reduced later at lower cost,
    // such as behind a loop.
    bool defers_sums = false;
    Freedom freedom;
  };
  struct Better {
    const Candidate* candidate = nullptr;
    // Relative to the present choice; infinite if there is none.
    double gain = 0;
  };

  // All arguments must outlive this.
  Choices(const FlatGraph& graph, const Annotations& pins, const Mesh& mesh,
          const Prices& prices, Resharder& resharder);

  void set_preference(const Preference& preference) {
    preference_ = preference;
  }

  // By op; null if not chosen yet.
  const std::vector<const Candidate*>& all() const { return chosen_; }
  void SetAll(std::vector<const Candidate*> all) { chosen_ = std::move(all); }
  void Choose(OpId op, const Candidate* candidate) { chosen_[op] = candidate; }

  // The cheapest candidate for a live op; the present choice if none is
  // cheaper.
  Better BestFor(OpId op);
  // Candidates that spare a neighbour a reshard which the present choice
  // requires.
  std::vector<const Candidate*> MatchingNeighbours(OpId op);

  // By how much the total cost falls if the op changes to `candidate`.
  double GainOf(OpId op, const Candidate& candidate) {
    return Price(op, *chosen_[op]) - Price(op, candidate);
  }
  double TotalPrice();
  // Bytes that a device sends to reshard everything that these ops use and
  // produce.
  double WireBytesAround(const std::vector<OpId>& ops);
  // Smaller differences in cost are ignored.
  double Negligible() const { return prices_.Least().latency * 1e-2; }

  // Ops whose best choice may change with that of `op`: the producers of its
  // operands first, then the users of its results and of its operands.
  void ListNeighbours(OpId op, std::vector<OpId>& list) const;

  bool IsCheapToRepeat(OpId op) const { return repeatable_[op]; }

  // From now on the values of the group have the same sharding: the given one,
  // or else the one that is cheapest to reach from their present shardings.
  void Settle(const ShardingGroup& group);

  // OK if every pin is satisfied; otherwise names the op.
  absl::Status CheckPins() const;

  Assignment ToAssignment() const;

 private:
  struct Use {
    OpId op;
    int32_t operand = 0;
  };

  void Prepare(OpId id);
  int32_t BitsOf(ValueId value) const;
  ShardingId ShardingOf(ValueId value) const;
  ShardingId WantedBy(const Use& use) const;
  double RepeatsOf(const Use& use) const;
  RegionId RegionOf(const Use& use) const;
  ShardingId WithoutPending(ShardingId sharding);
  ShardingId CheapestFor(const ShardingGroup& group);
  bool CanGive(ValueId value, ShardingId sharding);

  double MovePrice(ElementType type, ShardingId from, ShardingId to);
  double EdgePrice(const Use& self, const Candidate& candidate,
                   ShardingId from);
  template <typename Function>
  bool ForMoves(ValueId value, ShardingId from, Function function);
  double UsersPrice(OpId id, int32_t index, ShardingId from, bool pending);
  double Price(OpId id, const Candidate& candidate);
  void CollectSeeds(OpId id);
  template <typename Function>
  void ForCandidates(OpId id, const Freedom& freedom, Function function);
  bool Matches(OpId id, const Candidate& candidate) const;

  const FlatGraph& graph_;
  const Mesh& mesh_;
  const Prices prices_;
  Resharder& resharder_;
  ShardingPool pool_;
  OpPins pins_;
  CandidateTable table_;
  std::vector<Rule> rules_;
  std::vector<int32_t> rule_ids_;
  std::vector<int32_t> other_rule_ids_;   // -1: none.
  std::vector<const Candidate*> chosen_;  // By op.
  std::vector<bool> repeatable_;          // By op.
  std::vector<std::vector<Use>> uses_;    // By value.
  std::vector<RegionId> body_;  // By op: for a carry, the body of its loop.
  absl::flat_hash_map<uint64_t, double> price_cache_;
  Preference preference_;
  std::vector<Seed> seeds_;
  std::vector<std::pair<ShardingId, RegionId>> seen_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_PARTITION_CHOICES_H_
