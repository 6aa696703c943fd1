// A strategy for every op of a graph, as far as they are chosen, and what each
// costs next to its neighbours: moving operands, computing, moving results.
//
//   Choices choices(graph, pins, mesh, prices, resharder);
//   const Choices::Better better = choices.BestFor(op);
//   choices.Choose(op, better.candidate);   // Cheaper by better.gain.
//
// A value that several want in the same way, in the same place, is moved once;
// whoever wants it so besides others pays nothing.
#ifndef MESHWRIGHT_PARTITION_CHOICES_H_
#define MESHWRIGHT_PARTITION_CHOICES_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "meshwright/partition/alike.h"
#include "meshwright/partition/assignment.h"
#include "meshwright/partition/candidates.h"
#include "meshwright/partition/op_pins.h"
#include "meshwright/reshard/reshard.h"

namespace meshwright {

class Choices {
 public:
  // How ops are chosen when not all around them are yet.
  struct Manner {
    // Of equal choices those that leave sums pending: they may end where that
    // costs less, such as after a loop.
    bool sums_wait = false;
    Freedom freedom;
  };
  struct Better {
    const Candidate* candidate = nullptr;
    double gain = 0;  // Over what is chosen now; infinite when nothing is.
  };

  // The arguments outlive this.
  Choices(const FlatGraph& graph, const Annotations& pins, const Mesh& mesh,
          const Prices& prices, Resharder& resharder);

  void set_manner(const Manner& manner) { manner_ = manner; }

  // By op; null where nothing is chosen.
  const std::vector<const Candidate*>& all() const { return chosen_; }
  void SetAll(std::vector<const Candidate*> all) { chosen_ = std::move(all); }
  void Choose(OpId op, const Candidate* candidate) { chosen_[op] = candidate; }

  // The cheapest for a live op. What is chosen now, if nothing is cheaper.
  Better BestFor(OpId op);
  // Those under which a neighbour need not move what it gives or gets, but has
  // to now.
  std::vector<const Candidate*> Obliging(OpId op);

  // By how much all would be cheaper if this were chosen for the op.
  double GainOf(OpId op, const Candidate& candidate) {
    return Price(op, *chosen_[op]) - Price(op, candidate);
  }
  double TotalPrice();
  // What a device sends to move all that these ops use and make.
  double WireBytesAround(const std::vector<OpId>& ops);
  // Differences below this do not count.
  double Negligible() const { return prices_.Least().latency * 1e-2; }

  // Whether a change of one may make the other choose anew: those that give
  // `op` its operands, first, that use its results, and its operands too.
  void ListNeighbours(OpId op, std::vector<OpId>& list) const;

  bool IsCheapToRepeat(OpId op) const { return repeatable_[op]; }

  // From now on the values of the group lie alike: as given, or else as costs
  // least to move them to from how they lie now.
  void Settle(const AlikeGroup& group);

  // Every pin is kept; or the op is named.
  absl::Status CheckPins() const;

  Assignment ToAssignment() const;

 private:
  struct Use {
    OpId op = 0;
    int32_t operand = 0;
  };

  void Prepare(OpId id);
  int32_t BitsOf(ValueId value) const;
  ShardingId ShardingOf(ValueId value) const;
  ShardingId WantedBy(const Use& use) const;
  double RepeatsOf(const Use& use) const;
  RegionId RegionOf(const Use& use) const;
  ShardingId WithoutPending(ShardingId sharding);
  ShardingId CheapestFor(const AlikeGroup& group);
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
  bool Obliges(OpId id, const Candidate& candidate) const;

  const FlatGraph& graph_;
  const Mesh& mesh_;
  const Prices prices_;
  Resharder& resharder_;
  ShardingPool pool_;
  OpPins pins_;
  CandidateTable table_;
  std::vector<Rule> rules_;
  std::vector<int32_t> rule_ids_;
  std::vector<int32_t> other_rule_ids_;   // Or -1.
  std::vector<const Candidate*> chosen_;  // By op.
  std::vector<bool> repeatable_;          // By op.
  std::vector<std::vector<Use>> uses_;    // By value.
  std::vector<RegionId> body_;            // By op: of a carry's loop.
  absl::flat_hash_map<uint64_t, double> price_cache_;
  Manner manner_;
  std::vector<Seed> seeds_;
  std::vector<std::pair<ShardingId, RegionId>> seen_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_PARTITION_CHOICES_H_
