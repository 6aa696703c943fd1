#include "meshwright/pipeline/stage_strategies.h"

#include <algorithm>
#include <utility>

namespace meshwright {
namespace {

// Makes parameters and outputs partial sums like this one.
void GivePending(const Sharding& sharding, Rule& rule, Strategy& strategy) {
  if (!sharding.IsPending()) return;
  rule.linear = {{sharding.reduction, {}}};
  if (!rule.operands.empty()) rule.linear[0].operands = {0};
  strategy.linear = 0;
  strategy.reduction = sharding.reduction;
  strategy.pending = sharding.pending;
}

bool IsSame(const Rule& a, const Rule& b) {
  if (a.factors.size() != b.factors.size() || a.operands != b.operands ||
      a.results != b.results) {
    return false;
  }
  for (size_t i = 0; i < a.factors.size(); ++i) {
    if (a.factors[i].size != b.factors[i].size ||
        a.factors[i].kind != b.factors[i].kind) {
      return false;
    }
  }
  return true;
}

}  // namespace

Sharding Completed(Sharding sharding) {
  sharding.pending = {};
  sharding.reduction = Reduction::kSum;
  return sharding;
}

StageStrategies::StageStrategies(const FlatGraph& graph,
                                 const Assignment& assignment, const Mesh& mesh)
    : graph_(graph),
      assignment_(assignment),
      mesh_(mesh),
      parts_(graph.parameters.size(), OpId{-1}),
      carries_(graph.parameters.size(), OpId{-1}) {
  absl::flat_hash_map<ValueId, size_t> leaf_of;
  for (size_t leaf = 0; leaf < graph.parameters.size(); ++leaf) {
    leaf_of[graph.ops[graph.parameters[leaf]].first_result] = leaf;
  }
  for (OpId id{0}; id < std::ssize(graph.ops); ++id) {
    const FlatOp& op = graph.ops[id];
    if (!op.live) continue;
    ops_.try_emplace(Key{op.kind, op.instruction->name, op.leaf}, id);
    if (op.operands.empty()) continue;
    const auto leaf = leaf_of.find(op.operands[0]);
    if (leaf == leaf_of.end()) continue;
    if (op.kind == OpKind::kCarry) {
      const size_t number = leaf->second;
      leaf_of[op.first_result] = number;
      if (carries_[number] < 0) carries_[number] = id;
    } else if (op.kind == OpKind::kCompute &&
               op.instruction->opcode == Opcode::kDynamicSlice) {
      parts_[leaf->second] = id;
    }
  }
}

Sharding StageStrategies::ResultOf(OpId op, int32_t result) const {
  return ResultSharding(assignment_.rules[op], assignment_.strategies[op],
                        result, mesh_);
}

Sharding StageStrategies::AtRest(int64_t leaf) const {
  return Completed(ResultOf(graph_.parameters[leaf], 0));
}

Sharding StageStrategies::AtWork(int64_t leaf) const {
  if (carries_[leaf] < 0) return AtRest(leaf);
  return Completed(ResultOf(carries_[leaf], 0));
}

Sharding StageStrategies::PartOf(int64_t leaf) const {
  if (parts_[leaf] < 0) return AtRest(leaf);
  return Completed(ResultOf(parts_[leaf], 0));
}

OpId StageStrategies::Find(const FlatOp& op, const Rule& rule) const {
  const auto found = ops_.find(Key{op.kind, op.instruction->name, op.leaf});
  if (found == ops_.end()) return OpId{-1};
  const Instruction& there = *graph_.ops[found->second].instruction;
  // The linear forms of a rule may depend on its operands.
  return there.opcode == op.instruction->opcode &&
                 IsSame(assignment_.rules[found->second], rule) &&
                 IsValid(rule, assignment_.strategies[found->second], mesh_)
             ? found->second
             : OpId{-1};
}

std::optional<Sharding> StageStrategies::Result(const std::string& name,
                                                const Shape& shape) const {
  const auto found = ops_.find(Key{OpKind::kCompute, name, 0});
  if (found == ops_.end()) return std::nullopt;
  const FlatOp& there = graph_.ops[found->second];
  if (!(*graph_.values[there.first_result].shape == shape)) {
    return std::nullopt;
  }
  return ResultOf(found->second, 0);
}

// A strategy that follows the shardings of the operands, pending if the op can
// pass that on.
Strategy StageStrategies::Following(
    const Rule& rule,
    const std::vector<std::optional<Sharding>>& operands) const {
  Strategy strategy = ReplicatedStrategy(rule);
  for (size_t i = 0; i < operands.size(); ++i) {
    if (!operands[i].has_value()) continue;
    strategy = Merged(
        rule, strategy,
        StrategyFor(rule, rule.operands[i], Completed(*operands[i]), mesh_),
        mesh_);
  }
  for (size_t i = 0; i < rule.linear.size(); ++i) {
    const std::vector<int32_t>& linear = rule.linear[i].operands;
    if (linear.empty() || !operands[linear[0]].has_value()) continue;
    const Sharding& first = *operands[linear[0]];
    bool are_pending = first.IsPending();
    for (int32_t j = 0; j < std::ssize(operands) && are_pending; ++j) {
      const bool in = std::ranges::count(linear, j) > 0;
      are_pending = operands[j].has_value() &&
                    (in ? operands[j]->pending == first.pending &&
                              operands[j]->reduction == first.reduction
                        : !operands[j]->IsPending());
    }
    if (!are_pending) continue;
    Strategy pending = strategy;
    pending.linear = static_cast<int32_t>(i);
    pending.reduction = first.reduction;
    pending.pending = first.pending;
    if (IsValid(rule, pending, mesh_)) return pending;
  }
  return strategy;
}

Assignment StageStrategies::For(const FlatGraph& program,
                                const std::vector<Sharding>& parameters,
                                const std::vector<Output>& outputs) const {
  std::vector<Rule> rules = RulesOf(program);
  Assignment assignment;
  assignment.strategies.resize(program.ops.size());
  assignment.sharing.assign(program.values.size(), Sharing::kOnce);
  const auto result_of = [&](ValueId value) {
    const FlatValue& of = program.values[value];
    return ResultSharding(rules[of.producer],
                          assignment.strategies[of.producer], of.result, mesh_);
  };
  const auto share_as = [&](const FlatOp& op, OpId there) {
    if (assignment_.sharing.empty()) return;
    for (int32_t i = 0; i < op.result_count; ++i) {
      assignment.sharing[op.first_result + i] =
          assignment_.sharing[graph_.ops[there].first_result + i];
    }
  };
  size_t next_parameter = 0;
  for (OpId id{0}; id < std::ssize(program.ops); ++id) {
    const FlatOp& op = program.ops[id];
    Rule& rule = rules[id];
    Strategy& strategy = assignment.strategies[id];
    if (op.kind == OpKind::kParameter) {
      const Sharding& sharding = parameters[next_parameter++];
      if (!op.live) continue;
      strategy = StrategyFor(rule, rule.results[0], sharding, mesh_);
      GivePending(sharding, rule, strategy);
      continue;
    }
    if (!op.live) continue;
    if (op.kind == OpKind::kOutput) continue;  // Handled below.
    if (const OpId there = Find(op, rule); there >= 0) {
      strategy = assignment_.strategies[there];
      share_as(op, there);
      continue;
    }
    std::vector<std::optional<Sharding>> operands;
    for (const ValueId operand : op.operands) {
      // The next value of a carry is not known yet.
      operands.push_back(program.values[operand].producer < id
                             ? std::optional(result_of(operand))
                             : std::nullopt);
    }
    strategy = Following(rule, operands);
  }
  for (size_t i = 0; i < program.outputs.size(); ++i) {
    const OpId id = program.outputs[i];
    Rule& rule = rules[id];
    Sharding sharding =
        outputs[i].sharding.value_or(result_of(program.ops[id].operands[0]));
    if (!outputs[i].sharding.has_value() && !outputs[i].may_pend) {
      sharding = Completed(std::move(sharding));
    }
    assignment.strategies[id] =
        StrategyFor(rule, rule.operands[0], sharding, mesh_);
    GivePending(sharding, rule, assignment.strategies[id]);
  }
  assignment.rules = std::move(rules);
  return assignment;
}

}  // namespace meshwright
