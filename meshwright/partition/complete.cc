#include "meshwright/partition/complete.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "meshwright/base/check.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/mesh/sharding_text.h"
#include "meshwright/partition/alike.h"
#include "meshwright/partition/candidates.h"
#include "meshwright/partition/op_pins.h"
#include "meshwright/partition/pool.h"

namespace meshwright {
namespace {

constexpr ShardingId kUnset = -1;
constexpr int kMaxRounds = 6;
constexpr OpId kManyOps = 20000;
constexpr size_t kMaxUserSeeds = 4;

struct Use {
  OpId op = 0;
  int32_t operand = 0;
};

class Completer {
 public:
  Completer(const FlatGraph& graph, const Pins& pins, const Mesh& mesh,
            const Prices& prices, Resharder& resharder)
      : graph_(graph),
        mesh_(mesh),
        prices_(prices),
        resharder_(resharder),
        pins_(graph, pins, pool_),
        table_(mesh, prices_, pool_),
        rules_(RulesOf(graph)) {
    const size_t count = graph.ops.size();
    rule_ids_.resize(count);
    other_rule_ids_.resize(count, kUnset);
    chosen_.resize(count, nullptr);
    repeatable_.resize(count, false);
    dirty_.resize(count, true);
    uses_.resize(graph.values.size());
    body_.resize(count, 0);
    for (const Loop& loop : graph.loops) {
      for (const OpId carry : loop.carries) body_[carry] = loop.body;
    }
    for (size_t i = 0; i < count; ++i) {
      if (graph.ops[i].live) Prepare(static_cast<OpId>(i));
    }
  }

  absl::StatusOr<Assignment> Run(const std::vector<AlikeGroup>& groups) {
    for (const AlikeGroup& group : groups) {
      if (group.given.has_value()) Settle(group, pool_.Intern(*group.given));
    }
    SearchFromAllStarts();
    bool settled = false;
    for (const AlikeGroup& group : groups) {
      if (group.given.has_value()) continue;
      Settle(group, CheapestFor(group));
      settled = true;
    }
    if (settled) SearchFromAllStarts();
    MW_RETURN_IF_ERROR(CheckPins());
    Assignment assignment;
    const int32_t count = static_cast<int32_t>(graph_.ops.size());
    assignment.strategies.resize(count);
    assignment.rules = std::move(rules_);
    for (OpId op = 0; op < count; ++op) {
      if (!graph_.ops[op].live) continue;
      assignment.strategies[op] = chosen_[op]->strategy;
      Rule& rule = assignment.rules[op];
      const Rule& chosen = table_.rule(chosen_[op]->rule);
      rule.factors = chosen.factors;
      rule.operands = chosen.operands;
      rule.results = chosen.results;
      rule.linear = chosen.linear;
    }
    return assignment;
  }

 private:
  // How ops are chosen when not all around them are yet.
  struct Start {
    // Of equal choices those that leave sums pending: they may end where that
    // costs less, such as after a loop.
    bool sums_wait = false;
    Freedom freedom;
  };

  // Chooses for all ops: the best of several searches.
  void SearchFromAllStarts() {
    const int32_t count = static_cast<int32_t>(graph_.ops.size());
    // Where a search ends depends on where it starts. Long steps repeat
    // themselves; there one start has to do.
    constexpr Start kStarts[] = {
        {}, {true, {}}, {true, {true, false}}, {true, {true, true}}};
    std::vector<const Candidate*> best;
    double best_price = std::numeric_limits<double>::infinity();
    for (const Start& start : kStarts) {
      if (&start != kStarts && count > kManyOps) break;
      Search(start);
      const double price = TotalPrice();
      if (price >= best_price) continue;
      best = chosen_;
      best_price = price;
    }
    chosen_ = std::move(best);
  }

  // The values of a group lie so from now on.
  void Settle(const AlikeGroup& group, ShardingId sharding) {
    for (const ValueId value : group.values) pins_.Add(value, sharding);
  }

  // The sharding for all values of a group to which it costs least to move them
  // from how they lie now, of those that their ops can give.
  ShardingId CheapestFor(const AlikeGroup& group) {
    std::vector<ShardingId> choices;
    for (const ValueId value : group.values) {
      choices.push_back(WithoutPending(ShardingOf(value)));
    }
    choices.push_back(pool_.Intern(Sharding::Replicated(
        graph_.values[group.values[0]].shape->dimensions)));
    ShardingId best = choices.back();
    double best_price = std::numeric_limits<double>::infinity();
    for (const ShardingId choice : choices) {
      double price = 0;
      for (const ValueId value : group.values) {
        const FlatValue& of = graph_.values[value];
        if (!CanGive(value, choice)) {
          price = std::numeric_limits<double>::infinity();
        } else if (!repeatable_[of.producer]) {
          price += Price(of.shape->element_type, ShardingOf(value), choice) *
                   graph_.ops[of.producer].repeats;
        }
      }
      if (price >= best_price) continue;
      best = choice;
      best_price = price;
    }
    return best;
  }

  // Whether the op has a strategy for this.
  bool CanGive(ValueId value, ShardingId sharding) {
    const FlatValue& of = graph_.values[value];
    const size_t tensor = graph_.ops[of.producer].operands.size() + of.result;
    const std::vector<Seed> seeds = {{static_cast<int32_t>(tensor), sharding}};
    for (const Candidate& candidate :
         table_.Get(rule_ids_[of.producer], seeds, {true, true})) {
      if (candidate.results[of.result] == sharding &&
          pins_.Allows(of.producer, candidate)) {
        return true;
      }
    }
    return false;
  }

  // The sharding with nothing pending.
  ShardingId WithoutPending(ShardingId sharding) {
    Sharding complete = pool_[sharding];
    complete.pending.clear();
    complete.reduction = Reduction::kSum;
    return pool_.Intern(complete);
  }

  // Chooses for all ops, from the beginning.
  void Search(const Start& start) {
    const int32_t count = static_cast<int32_t>(graph_.ops.size());
    chosen_.assign(count, nullptr);
    dirty_.assign(count, true);
    how_ = start;
    VisitInOrder();
    how_ = {false, {true, true}};
    for (int round = 0; round < kMaxRounds; ++round) {
      bool changed = false;
      for (OpId i = 0; i < count; ++i) {
        const OpId op = round % 2 == 0 ? count - 1 - i : i;
        if (dirty_[op]) changed = Visit(op) || changed;
      }
      if (!changed) break;
    }
  }

  // Of all that is chosen.
  double TotalPrice() {
    double price = 0;
    for (OpId id = 0; id < static_cast<OpId>(graph_.ops.size()); ++id) {
      const FlatOp& op = graph_.ops[id];
      if (!op.live || repeatable_[id]) continue;
      price += chosen_[id]->work * op.repeats;
      for (int32_t i = 0; i < op.result_count; ++i) {
        price += UsersPrice(id, i, chosen_[id]->results[i], false);
      }
    }
    return price;
  }

  // Each op once. What a loop starts from a constant follows what the body
  // makes of it.
  void VisitInOrder() {
    const OpId count = static_cast<OpId>(graph_.ops.size());
    std::vector<bool> deferred(count, false);
    std::multimap<OpId, OpId> carries;  // By the op they come before.
    for (const Loop& loop : graph_.loops) {
      for (const OpId carry : loop.carries) {
        const FlatOp& op = graph_.ops[carry];
        if (!op.live) continue;
        if (!repeatable_[graph_.values[op.operands[0]].producer]) continue;
        deferred[carry] = true;
        carries.emplace(loop.end, carry);
      }
    }
    for (OpId op = 0; op < count; ++op) {
      const auto [begin, end] = carries.equal_range(op);
      for (auto carry = begin; carry != end; ++carry) Visit(carry->second);
      if (!deferred[op]) Visit(op);
    }
    for (OpId op = 0; op < count; ++op) {
      if (graph_.ops[op].live && chosen_[op] == nullptr) Visit(op);
    }
  }

  void Prepare(OpId id) {
    const FlatOp& op = graph_.ops[id];
    std::vector<int32_t> bits;
    for (size_t i = 0; i < op.operands.size(); ++i) {
      uses_[op.operands[i]].push_back({id, static_cast<int32_t>(i)});
      bits.push_back(BitsOf(op.operands[i]));
    }
    for (int32_t i = 0; i < op.result_count; ++i) {
      bits.push_back(BitsOf(op.first_result + i));
    }
    const Instruction* instruction =
        op.kind == OpKind::kCompute ? op.instruction : nullptr;
    rule_ids_[id] = table_.InternRule(rules_[id], bits, instruction);
    if (instruction != nullptr) {
      if (const std::optional<Rule> other = OtherRuleFor(*instruction)) {
        other_rule_ids_[id] = table_.InternRule(*other, bits, instruction);
      }
    }
    repeatable_[id] = op.kind == OpKind::kCompute && rules_[id].cheap_to_repeat;
  }

  int32_t BitsOf(ValueId value) const {
    return static_cast<int32_t>(
        BitWidth(graph_.values[value].shape->element_type));
  }

  ShardingId ShardingOf(ValueId value) const {
    const FlatValue& of = graph_.values[value];
    const Candidate* producer = chosen_[of.producer];
    return producer == nullptr ? kUnset : producer->results[of.result];
  }
  ShardingId WantedBy(const Use& use) const {
    const Candidate* user = chosen_[use.op];
    return user == nullptr ? kUnset : user->operands[use.operand];
  }

  // How often a value is moved for this use.
  double RepeatsOf(const Use& use) const {
    const FlatOp& op = graph_.ops[use.op];
    return op.kind == OpKind::kCarry && use.operand == 0 ? op.entries
                                                         : op.repeats;
  }

  // Where a value is moved for this use. What a loop carries is at hand inside
  // and after it; a move serves one of the two.
  RegionId RegionOf(const Use& use) const {
    const FlatOp& op = graph_.ops[use.op];
    return op.kind == OpKind::kCarry && use.operand == 1 ? body_[use.op]
                                                         : op.region;
  }

  double Price(ElementType type, ShardingId from, ShardingId to) {
    if (from == to) return 0;
    const uint64_t key = static_cast<uint64_t>(type) << 56 |
                         static_cast<uint64_t>(from) << 28 |
                         static_cast<uint64_t>(to);
    const auto [entry, is_new] = price_cache_.try_emplace(key, 0);
    if (is_new) {
      const double price = resharder_.Price(type, pool_[from], pool_[to]);
      entry->second = price;
      return price;
    }
    return entry->second;
  }

  // What it adds to the whole to give `self` operand `value`, lying as `from`,
  // in the sharding `wanted`, next to the value's other uses.
  double EdgePrice(ValueId value, ShardingId from, ShardingId wanted,
                   const Use& self) {
    if (from == kUnset || from == wanted ||
        repeatable_[graph_.values[value].producer]) {
      return 0;
    }
    for (const Use& use : uses_[value]) {
      if (use.op == self.op && use.operand == self.operand) continue;
      if (WantedBy(use) == wanted && RegionOf(use) == RegionOf(self)) {
        return 0;  // Shared.
      }
    }
    return Price(graph_.values[value].shape->element_type, from, wanted) *
           RepeatsOf(self);
  }

  // The price of moving result `index`, lying as `from`, to all that use it.
  double UsersPrice(OpId id, int32_t index, ShardingId from, bool pending) {
    const FlatOp& op = graph_.ops[id];
    const ValueId value = op.first_result + index;
    double price = 0;
    bool any = false;
    std::vector<std::pair<ShardingId, RegionId>>& seen = seen_;
    seen.clear();
    for (const Use& use : uses_[value]) {
      const ShardingId wanted = WantedBy(use);
      if (wanted == kUnset || use.op == id) continue;
      any = true;
      const std::pair<ShardingId, RegionId> move(wanted, RegionOf(use));
      if (wanted == from ||
          std::find(seen.begin(), seen.end(), move) != seen.end()) {
        continue;
      }
      seen.push_back(move);
      price += Price(graph_.values[value].shape->element_type, from, wanted) *
               RepeatsOf(use);
    }
    if (!any && pending) {
      // Nobody has asked yet; someone will want it complete.
      price += Price(graph_.values[value].shape->element_type, from,
                     WithoutPending(from)) *
               (op.kind == OpKind::kCarry ? op.entries : op.repeats);
    }
    return price;
  }

  double Evaluate(OpId id, const Candidate& candidate) {
    const FlatOp& op = graph_.ops[id];
    double price = candidate.work * op.repeats;
    for (size_t i = 0; i < op.operands.size(); ++i) {
      const Use self{id, static_cast<int32_t>(i)};
      // What a loop carries unchanged comes back to the op itself.
      const FlatValue& operand = graph_.values[op.operands[i]];
      const ShardingId from = operand.producer == id
                                  ? candidate.results[operand.result]
                                  : ShardingOf(op.operands[i]);
      price += EdgePrice(op.operands[i], from, candidate.operands[i], self);
    }
    if (!repeatable_[id]) {
      for (int32_t i = 0; i < op.result_count; ++i) {
        price += UsersPrice(id, i, candidate.results[i], candidate.pending);
      }
    }
    // Of equals the one that leaves nothing pending, unless told otherwise.
    if (candidate.pending != how_.sums_wait)
      price += prices_.Least().latency * 1e-3;
    return price;
  }

  // Every pin is kept, or named.
  absl::Status CheckPins() const {
    for (OpId id = 0; id < static_cast<OpId>(graph_.ops.size()); ++id) {
      const FlatOp& op = graph_.ops[id];
      if (!op.live || pins_.Allows(id, *chosen_[id])) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          op.instruction->name, ": ", op.instruction->opcode_name(),
          " cannot give ", ToString(pool_[pins_.Of(id).back().sharding], mesh_),
          "; the nearest is ", ToString(pool_[chosen_[id]->results[0]], mesh_),
          ". Give it that, or split a user of it"));
    }
    return absl::OkStatus();
  }

  void CollectSeeds(OpId id, std::vector<Seed>& seeds) const {
    const FlatOp& op = graph_.ops[id];
    const auto add = [&](int32_t tensor, ShardingId sharding) {
      if (sharding == kUnset) return;
      const Seed seed{tensor, sharding};
      if (std::find(seeds.begin(), seeds.end(), seed) == seeds.end()) {
        seeds.push_back(seed);
      }
    };
    const int32_t operands = static_cast<int32_t>(op.operands.size());
    for (const OpPin& pin : pins_.Of(id)) add(pin.tensor, pin.sharding);
    for (int32_t i = 0; i < operands; ++i) {
      if (repeatable_[graph_.values[op.operands[i]].producer]) continue;
      add(i, ShardingOf(op.operands[i]));
    }
    for (int32_t i = 0; i < op.result_count; ++i) {
      size_t count = 0;
      for (const Use& use : uses_[op.first_result + i]) {
        const ShardingId wanted = WantedBy(use);
        if (wanted != kUnset && count++ < kMaxUserSeeds) {
          add(operands + i, wanted);
        }
      }
    }
  }

  // Chooses anew for `id`; true if the choice changed.
  bool Visit(OpId id) {
    dirty_[id] = false;
    if (!graph_.ops[id].live) return false;
    seeds_.clear();
    CollectSeeds(id, seeds_);
    const Candidate* best = nullptr;
    double best_price = std::numeric_limits<double>::infinity();
    if (chosen_[id] != nullptr) {
      best = chosen_[id];
      best_price = Evaluate(id, *best) * (1 - 1e-9);
    }
    Freedom freedom = how_.freedom;
    freedom.other_rules = freedom.other_rules || !pins_.Of(id).empty();
    for (const int32_t rule : {rule_ids_[id], other_rule_ids_[id]}) {
      if (rule == kUnset || (rule != rule_ids_[id] && !freedom.other_rules)) {
        continue;
      }
      for (const Candidate& candidate : table_.Get(rule, seeds_, freedom)) {
        if (best != nullptr && candidate.rule == best->rule &&
            candidate.strategy == best->strategy) {
          continue;
        }
        if (!pins_.Allows(id, candidate)) continue;
        const double price = Evaluate(id, candidate);
        if (price < best_price) {
          best = &candidate;
          best_price = price;
        }
      }
    }
    if (best == nullptr) {
      // A pin that the rule cannot give: as near as it gets; see CheckPins.
      best = &table_.Get(rule_ids_[id], seeds_, freedom).front();
    }
    if (best == chosen_[id]) return false;
    chosen_[id] = best;
    MarkNeighbours(id);
    return true;
  }

  void MarkNeighbours(OpId id) {
    const FlatOp& op = graph_.ops[id];
    for (const ValueId operand : op.operands) {
      dirty_[graph_.values[operand].producer] = true;
      for (const Use& use : uses_[operand]) dirty_[use.op] = true;
    }
    for (int32_t i = 0; i < op.result_count; ++i) {
      for (const Use& use : uses_[op.first_result + i]) dirty_[use.op] = true;
    }
    dirty_[id] = false;
  }

  const FlatGraph& graph_;
  const Mesh& mesh_;
  const Prices prices_;
  Resharder& resharder_;
  ShardingPool pool_;
  OpPins pins_;
  CandidateTable table_;
  std::vector<Rule> rules_;
  std::vector<int32_t> rule_ids_;
  std::vector<int32_t> other_rule_ids_;   // Or kUnset.
  std::vector<const Candidate*> chosen_;  // By op.
  std::vector<bool> repeatable_;          // By op.
  std::vector<bool> dirty_;               // By op: a neighbour has changed.
  std::vector<std::vector<Use>> uses_;    // By value.
  std::vector<RegionId> body_;            // By op: of a carry's loop.
  absl::flat_hash_map<uint64_t, double> price_cache_;
  Start how_;
  std::vector<Seed> seeds_;
  std::vector<std::pair<ShardingId, RegionId>> seen_;
};

}  // namespace

absl::StatusOr<Assignment> Complete(const FlatGraph& graph, const Pins& pins,
                                    const Mesh& mesh, const Prices& prices,
                                    Resharder& resharder) {
  MW_ASSIGN_OR_RETURN(const std::vector<AlikeGroup> groups,
                      AlikeGroups(graph, pins));
  return Completer(graph, pins, mesh, prices, resharder).Run(groups);
}

}  // namespace meshwright
