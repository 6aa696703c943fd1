#include "meshwright/partition/choices.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "meshwright/mesh/sharding_text.h"

namespace meshwright {
namespace {

constexpr ShardingId kUnset{-1};
constexpr int32_t kNoRule = -1;
constexpr size_t kMaxUserSeeds = 4;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Whether two pins agree, if neither leaves anything open; otherwise unknown.
bool Agree(const OpPin& a, const OpPin& b) {
  return !a.free.empty() || !b.free.empty() || a.sharding == b.sharding;
}

}  // namespace

Choices::Choices(const FlatGraph& graph, const Annotations& pins,
                 const Mesh& mesh, const Prices& prices, Resharder& resharder)
    : graph_(graph),
      mesh_(mesh),
      prices_(prices),
      resharder_(resharder),
      pins_(graph, pins, pool_),
      table_(mesh, prices_, pool_),
      rules_(RulesOf(graph)) {
  const size_t count = graph.ops.size();
  rule_ids_.resize(count);
  other_rule_ids_.resize(count, kNoRule);
  chosen_.resize(count, nullptr);
  repeatable_.resize(count, false);
  uses_.resize(graph.values.size());
  body_.resize(count);
  for (const Loop& loop : graph.loops) {
    for (const OpId carry : loop.carries) body_[carry] = loop.body;
  }
  for (size_t i = 0; i < count; ++i) {
    if (graph.ops[i].live) Prepare(static_cast<OpId>(i));
  }
}

void Choices::Prepare(OpId id) {
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

int32_t Choices::BitsOf(ValueId value) const {
  return static_cast<int32_t>(
      BitWidth(graph_.values[value].shape->element_type));
}

ShardingId Choices::ShardingOf(ValueId value) const {
  const FlatValue& of = graph_.values[value];
  const Candidate* producer = chosen_[of.producer];
  return producer == nullptr ? kUnset : producer->results[of.result];
}

ShardingId Choices::WantedBy(const Use& use) const {
  const Candidate* user = chosen_[use.op];
  return user == nullptr ? kUnset : user->operands[use.operand];
}

// How often a value is resharded for this use.
double Choices::RepeatsOf(const Use& use) const {
  const FlatOp& op = graph_.ops[use.op];
  return op.kind == OpKind::kCarry && use.operand == 0 ? op.entries
                                                       : op.repeats;
}

// The region in which a value is resharded for this use. A loop-carried value
// is available inside and after the loop; a reshard serves one of the two.
RegionId Choices::RegionOf(const Use& use) const {
  const FlatOp& op = graph_.ops[use.op];
  return op.kind == OpKind::kCarry && use.operand == 1 ? body_[use.op]
                                                       : op.region;
}

ShardingId Choices::WithoutPending(ShardingId sharding) {
  Sharding complete = pool_[sharding];
  complete.pending.clear();
  complete.reduction = Reduction::kSum;
  return pool_.Intern(complete);
}

double Choices::MovePrice(ElementType type, ShardingId from, ShardingId to) {
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

// The additional cost of providing `self`, under `candidate`, with its operand
// from sharding `from`, given the other uses of that value.
double Choices::EdgePrice(const Use& self, const Candidate& candidate,
                          ShardingId from) {
  const ValueId value = graph_.ops[self.op].operands[self.operand];
  const ShardingId wanted = candidate.operands[self.operand];
  if (from == kUnset || from == wanted ||
      repeatable_[graph_.values[value].producer]) {
    return 0;
  }
  for (const Use& use : uses_[value]) {
    // If an op has equal operands, the first one pays.
    if (use.op == self.op && use.operand >= self.operand) continue;
    const ShardingId other =
        use.op == self.op ? candidate.operands[use.operand] : WantedBy(use);
    if (other == wanted && RegionOf(use) == RegionOf(self)) return 0;
  }
  return MovePrice(graph_.values[value].shape->element_type, from, wanted) *
         RepeatsOf(self);
}

// Calls `function` with the target sharding and the frequency of each reshard
// that the users of a value with sharding `from` need. False if nothing uses it
// yet.
template <typename Function>
bool Choices::ForMoves(ValueId value, ShardingId from, Function function) {
  bool any = false;
  seen_.clear();
  for (const Use& use : uses_[value]) {
    const ShardingId wanted = WantedBy(use);
    if (wanted == kUnset || use.op == graph_.values[value].producer) continue;
    any = true;
    const std::pair<ShardingId, RegionId> move(wanted, RegionOf(use));
    if (wanted == from ||
        std::find(seen_.begin(), seen_.end(), move) != seen_.end()) {
      continue;
    }
    seen_.push_back(move);
    function(wanted, RepeatsOf(use));
  }
  return any;
}

// The price of resharding result `index` from `from` for all its users.
double Choices::UsersPrice(OpId id, int32_t index, ShardingId from,
                           bool pending) {
  const FlatOp& op = graph_.ops[id];
  const ValueId value = op.first_result + index;
  const ElementType type = graph_.values[value].shape->element_type;
  double price = 0;
  const bool any =
      ForMoves(value, from, [&](ShardingId wanted, double repeats) {
        price += MovePrice(type, from, wanted) * repeats;
      });
  if (!any && pending) {
    // No user has a strategy yet; some will need it complete.
    price += MovePrice(type, from, WithoutPending(from)) *
             (op.kind == OpKind::kCarry ? op.entries : op.repeats);
  }
  return price;
}

double Choices::WireBytesAround(const std::vector<OpId>& ops) {
  absl::flat_hash_set<ValueId> values;
  for (const OpId id : ops) {
    const FlatOp& op = graph_.ops[id];
    values.insert(op.operands.begin(), op.operands.end());
    for (int32_t i = 0; i < op.result_count; ++i) {
      values.insert(op.first_result + i);
    }
  }
  double bytes = 0;
  for (const ValueId value : values) {
    const FlatValue& of = graph_.values[value];
    if (repeatable_[of.producer]) continue;
    const ShardingId from = ShardingOf(value);
    ForMoves(value, from, [&](ShardingId wanted, double repeats) {
      for (const ReshardStep& step : resharder_.Path(
               of.shape->element_type, pool_[from], pool_[wanted])) {
        bytes += step.wire_bytes * repeats;
      }
    });
  }
  return bytes;
}

double Choices::Price(OpId id, const Candidate& candidate) {
  const FlatOp& op = graph_.ops[id];
  double price = candidate.work * op.repeats;
  for (size_t i = 0; i < op.operands.size(); ++i) {
    const Use self{id, static_cast<int32_t>(i)};
    // A loop-invariant value comes back to the op itself.
    const FlatValue& operand = graph_.values[op.operands[i]];
    const ShardingId from = operand.producer == id
                                ? candidate.results[operand.result]
                                : ShardingOf(op.operands[i]);
    price += EdgePrice(self, candidate, from);
  }
  if (!repeatable_[id]) {
    for (int32_t i = 0; i < op.result_count; ++i) {
      price += UsersPrice(id, i, candidate.results[i], candidate.pending);
    }
  }
  // Among equals prefers the one that leaves nothing pending, unless told
  // otherwise.
  if (candidate.pending != preference_.defers_sums) {
    price += prices_.Least().latency * 1e-3;
  }
  return price;
}

double Choices::TotalPrice() {
  double price = 0;
  for (OpId id{0}; id < static_cast<OpId>(graph_.ops.size()); ++id) {
    const FlatOp& op = graph_.ops[id];
    if (!op.live || repeatable_[id]) continue;
    price += chosen_[id]->work * op.repeats;
    for (int32_t i = 0; i < op.result_count; ++i) {
      price += UsersPrice(id, i, chosen_[id]->results[i], false);
    }
  }
  return price;
}

void Choices::CollectSeeds(OpId id) {
  seeds_.clear();
  const FlatOp& op = graph_.ops[id];
  const auto add = [&](int32_t tensor, ShardingId sharding) {
    if (sharding == kUnset) return;
    const Seed seed{tensor, sharding};
    if (std::find(seeds_.begin(), seeds_.end(), seed) == seeds_.end()) {
      seeds_.push_back(seed);
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

// Everything that the neighbours suggest, except the present choice and what
// the pins forbid.
template <typename Function>
void Choices::ForCandidates(OpId id, const Freedom& freedom,
                            Function function) {
  CollectSeeds(id);
  const Candidate* const chosen = chosen_[id];
  for (const int32_t rule : {rule_ids_[id], other_rule_ids_[id]}) {
    if (rule == kNoRule || (rule != rule_ids_[id] && !freedom.other_rules)) {
      continue;
    }
    for (const Candidate& candidate : table_.Get(rule, seeds_, freedom)) {
      const bool is_chosen = chosen != nullptr &&
                             candidate.rule == chosen->rule &&
                             candidate.strategy == chosen->strategy;
      if (!is_chosen && pins_.Allows(id, candidate)) function(candidate);
    }
  }
}

Choices::Better Choices::BestFor(OpId id) {
  const Candidate* const now = chosen_[id];
  const double price_now = now == nullptr ? kInfinity : Price(id, *now);
  const Candidate* best = now;
  double best_price = now == nullptr ? kInfinity : price_now * (1 - 1e-9);
  Freedom freedom = preference_.freedom;
  freedom.other_rules = freedom.other_rules || !pins_.Of(id).empty();
  ForCandidates(id, freedom, [&](const Candidate& candidate) {
    const double price = Price(id, candidate);
    if (price >= best_price) return;
    best = &candidate;
    best_price = price;
  });
  if (best == nullptr) {
    // A pin that the rule cannot satisfy: as close as possible; see CheckPins.
    best = &table_.Get(rule_ids_[id], seeds_, freedom).front();
  }
  return {best, best == now ? 0 : price_now - best_price};
}

bool Choices::Matches(OpId id, const Candidate& candidate) const {
  const FlatOp& op = graph_.ops[id];
  const Candidate& now = *chosen_[id];
  for (size_t i = 0; i < op.operands.size(); ++i) {
    const FlatValue& operand = graph_.values[op.operands[i]];
    if (candidate.operands[i] != now.operands[i] && operand.producer != id &&
        !repeatable_[operand.producer] &&
        candidate.operands[i] == ShardingOf(op.operands[i])) {
      return true;
    }
  }
  for (int32_t i = 0; i < op.result_count; ++i) {
    if (candidate.results[i] == now.results[i]) continue;
    for (const Use& use : uses_[op.first_result + i]) {
      if (use.op != id && WantedBy(use) == candidate.results[i]) return true;
    }
  }
  return false;
}

std::vector<const Candidate*> Choices::MatchingNeighbours(OpId id) {
  std::vector<const Candidate*> matching;
  const FlatOp& op = graph_.ops[id];
  const Candidate& now = *chosen_[id];
  bool moves = false;
  for (size_t i = 0; i < op.operands.size(); ++i) {
    moves = moves || (!repeatable_[graph_.values[op.operands[i]].producer] &&
                      now.operands[i] != ShardingOf(op.operands[i]));
  }
  for (int32_t i = 0; i < op.result_count; ++i) {
    for (const Use& use : uses_[op.first_result + i]) {
      moves = moves || WantedBy(use) != now.results[i];
    }
  }
  if (!moves || repeatable_[id]) return matching;
  ForCandidates(id, {true, true}, [&](const Candidate& candidate) {
    if (Matches(id, candidate)) matching.push_back(&candidate);
  });
  return matching;
}

void Choices::ListNeighbours(OpId id, std::vector<OpId>& list) const {
  const FlatOp& op = graph_.ops[id];
  for (const ValueId operand : op.operands) {
    list.push_back(graph_.values[operand].producer);
  }
  for (int32_t i = 0; i < op.result_count; ++i) {
    for (const Use& use : uses_[op.first_result + i]) list.push_back(use.op);
  }
  for (const ValueId operand : op.operands) {
    for (const Use& use : uses_[operand]) list.push_back(use.op);
  }
}

void Choices::Settle(const ShardingGroup& group) {
  const ShardingId sharding =
      group.given.has_value() ? pool_.Intern(*group.given) : CheapestFor(group);
  for (const ValueId value : group.values) pins_.Add(value, sharding);
}

ShardingId Choices::CheapestFor(const ShardingGroup& group) {
  std::vector<ShardingId> choices;
  for (const ValueId value : group.values) {
    choices.push_back(WithoutPending(ShardingOf(value)));
  }
  choices.push_back(pool_.Intern(
      Sharding::Replicated(graph_.values[group.values[0]].shape->dimensions)));
  ShardingId best = choices.back();
  double best_price = kInfinity;
  for (const ShardingId choice : choices) {
    double price = 0;
    for (const ValueId value : group.values) {
      const FlatValue& of = graph_.values[value];
      if (!CanGive(value, choice)) {
        price = kInfinity;
      } else if (!repeatable_[of.producer]) {
        price += MovePrice(of.shape->element_type, ShardingOf(value), choice) *
                 graph_.ops[of.producer].repeats;
      }
    }
    if (price >= best_price) continue;
    best = choice;
    best_price = price;
  }
  return best;
}

// Whether the op has a strategy with this sharding.
bool Choices::CanGive(ValueId value, ShardingId sharding) {
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

absl::Status Choices::CheckPins() const {
  for (OpId id{0}; id < static_cast<OpId>(graph_.ops.size()); ++id) {
    const FlatOp& op = graph_.ops[id];
    if (!op.live) continue;
    const OpPin* const broken = pins_.Broken(id, *chosen_[id]);
    if (broken == nullptr) continue;
    const std::string asked = ToString(pool_[broken->sharding], mesh_);
    for (const OpPin& other : pins_.Of(id)) {
      if (other.tensor != broken->tensor || Agree(other, *broken)) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          broken->instruction->name, " is pinned to ", asked, ", ",
          other.instruction->name, " to ",
          ToString(pool_[other.sharding], mesh_), "; they are one value"));
    }
    const std::vector<ShardingId>& results = chosen_[id]->results;
    const size_t result = broken->tensor - op.operands.size();
    return absl::InvalidArgumentError(absl::StrCat(
        broken->instruction->name, ": ", op.instruction->opcode_name(),
        " cannot give ", asked, "; the nearest is ",
        ToString(pool_[results[result]], mesh_),
        ". Give it that, or split a user of it"));
  }
  return absl::OkStatus();
}

Assignment Choices::ToAssignment() const {
  Assignment assignment;
  assignment.strategies.resize(chosen_.size());
  std::vector<Rule> rules = rules_;
  for (size_t op = 0; op < chosen_.size(); ++op) {
    if (!graph_.ops[op].live) continue;
    assignment.strategies[op] = chosen_[op]->strategy;
    Rule& rule = rules[op];
    const Rule& chosen = table_.rule(chosen_[op]->rule);
    rule.factors = chosen.factors;
    rule.operands = chosen.operands;
    rule.results = chosen.results;
    rule.linear = chosen.linear;
  }
  assignment.rules = std::move(rules);
  return assignment;
}

}  // namespace meshwright
