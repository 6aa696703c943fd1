#include "meshwright/search/step_model.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "meshwright/base/side_by_side.h"
#include "meshwright/microbatch/batch_dimensions.h"
#include "meshwright/partition/assignment.h"
#include "meshwright/partition/candidates.h"
#include "meshwright/partition/pinned_rules.h"
#include "meshwright/partition/tensor_pins.h"
#include "meshwright/search/joint_reductions.h"
#include "meshwright/search/memory_points.h"

namespace meshwright {
namespace {

// Ops that do the same on the same shapes share a number.
std::vector<int32_t> RuleIds(const FlatGraph& graph,
                             const std::vector<Rule>& rules) {
  const Mesh mesh = *Mesh::Parse("1");
  const Prices prices;
  ShardingPool pool;
  CandidateTable table(mesh, prices, pool);
  std::vector<int32_t> ids(graph.ops.size(), -1);
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    const FlatOp& op = graph.ops[i];
    if (!op.live) continue;
    std::vector<int32_t> bits;
    const auto add = [&](ValueId value) {
      bits.push_back(
          static_cast<int32_t>(graph.values[value].shape->element_type));
    };
    for (const ValueId operand : op.operands) add(operand);
    for (int32_t r = 0; r < op.result_count; ++r) add(op.first_result + r);
    ids[i] = table.InternRule(rules[i], std::move(bits), nullptr);
  }
  return ids;
}

// Ops with different pins are not the same.
void TellPinnedApart(const std::vector<std::vector<TensorPin>>& pins,
                     std::vector<int32_t>& ids) {
  const auto is_same = [](const TensorPin& a, const TensorPin& b) {
    return a.tensor == b.tensor && *a.asked == *b.asked;
  };
  std::vector<size_t> firsts;  // One op for each set of pins.
  std::map<std::pair<int32_t, size_t>, int32_t> known;
  int32_t next = *std::ranges::max_element(ids) + 1;
  for (size_t i = 0; i < pins.size(); ++i) {
    if (pins[i].empty() || ids[i] < 0) continue;
    const auto way = std::ranges::find_if(firsts, [&](size_t other) {
      return std::ranges::equal(pins[i], pins[other], is_same);
    });
    const size_t number = way - firsts.begin();
    if (way == firsts.end()) firsts.push_back(i);
    const auto [entry, is_new] = known.try_emplace({ids[i], number}, next);
    if (is_new) ++next;
    ids[i] = entry->second;
  }
}

// The groups that the loss depends on.
std::vector<bool> BehindLoss(const StepModel& model) {
  std::vector<bool> behind(model.graph.ops.size(), false);
  std::vector<OpId> stack;
  if (model.roles.loss.has_value()) {
    stack.push_back(model.graph.outputs[*model.roles.loss]);
  }
  while (!stack.empty()) {
    const OpId id = stack.back();
    stack.pop_back();
    if (behind[id]) continue;
    behind[id] = true;
    for (const ValueId operand : model.graph.ops[id].operands) {
      stack.push_back(model.graph.values[operand].producer);
    }
  }
  return behind;
}

class Modeller {
 public:
  explicit Modeller(StepModel& model) : model_(model), graph_(model.graph) {}

  // Everything that does not depend on memory traffic.
  void FindGroups(const MeshPins* pins) {
    model_.parameter_of_leaf = ParametersOfLeaves(*model_.module);
    const std::vector<std::pair<OpId, OpId>>& tied = model_.state_ops =
        StateOps(*model_.module, model_.roles, graph_);
    std::vector<int32_t> ids;
    if (pins == nullptr) {
      model_.rules = RulesOf(graph_);
      ids = RuleIds(graph_, model_.rules);
    } else {
      const auto by_op = PinsByOp(graph_, pins->given, tied);
      model_.rules = RulesWithPins(graph_, by_op, pins->mesh);
      ids = RuleIds(graph_, model_.rules);
      TellPinnedApart(by_op, ids);
    }
    model_.groups = GroupOps(graph_, ids, tied);
    const int32_t groups = model_.groups.count();
    model_.weights.assign(groups, 0);
    model_.work.resize(groups);
    const ModuleWork work(*model_.module);
    for (GroupId g{0}; g < groups; ++g) {
      if (model_.op(g).kind != OpKind::kCompute) continue;
      model_.work[g] = work.Of(*model_.op(g).instruction);
    }
    for (GroupId g{0}; g < groups; ++g) {
      for (const OpId op : model_.groups.members[g]) {
        model_.weights[g] += graph_.ops[op].repeats;
      }
    }
    for (const auto& [parameter, output] : tied) {
      AddPair(GroupOf(parameter), GroupOf(output));
    }
    FindValues();
    FindLatencyShares();
    FindUses();
    FindKinds();
    FindPending();
  }

  void FindMemory() {
    FindStored();
    model_.points = AddMemoryPoints(model_);
  }

 private:
  GroupId GroupOf(OpId op) const { return model_.groups.group_of[op]; }

  void AddPair(GroupId parameter, GroupId output) {
    if (parameter < 0 || output < 0) return;  // A dead one.
    const std::pair<GroupId, GroupId> pair(parameter, output);
    auto& pairs = model_.state_pairs;
    if (std::find(pairs.begin(), pairs.end(), pair) == pairs.end()) {
      pairs.push_back(pair);
    }
  }

  void FindValues() {
    const int32_t groups = model_.groups.count();
    model_.group_values.resize(groups);
    for (GroupId g{0}; g < groups; ++g) {
      const FlatOp& op = model_.op(g);
      for (int32_t r = 0; r < op.result_count; ++r) {
        model_.group_values[g].push_back(GroupValueId(model_.values.size()));
        model_.values.push_back(
            {.group = g,
             .result = r,
             .shape = graph_.values[op.first_result + r].shape});
      }
    }
  }

  void FindLatencyShares() {
    const std::vector<double> joint = JointReductions(graph_, model_.rules);
    for (GroupValue& value : model_.values) {
      const auto& members = model_.groups.members[value.group];
      value.latency_share = 0;
      for (const OpId op : members) {
        value.latency_share +=
            1 / joint[graph_.ops[op].first_result + value.result];
      }
      value.latency_share /= static_cast<double>(members.size());
    }
  }

  void FindUses() {
    std::map<std::tuple<GroupId, int32_t, GroupValueId>, double> uses;
    for (size_t i = 0; i < graph_.ops.size(); ++i) {
      const FlatOp& op = graph_.ops[i];
      if (!op.live) continue;
      for (size_t k = 0; k < op.operands.size(); ++k) {
        const FlatValue& from = graph_.values[op.operands[k]];
        const GroupValueId value =
            model_.group_values[GroupOf(from.producer)][from.result];
        const double times =
            op.kind == OpKind::kCarry && k == 0 ? op.entries : op.repeats;
        uses[{GroupOf(static_cast<OpId>(i)), static_cast<int32_t>(k), value}] +=
            times;
      }
    }
    for (const auto& [key, weight] : uses) {
      const auto& [user, operand, value] = key;
      model_.uses.push_back({value, user, operand, weight});
    }
  }

  void FindKinds() {
    model_.kinds.assign(model_.groups.count(), StateKind::kNone);
    model_.batch_dims.resize(model_.groups.count());
    const std::vector<bool> behind = BehindLoss(model_);
    const auto batch = BatchDimensions(*model_.module, graph_, {.count = 1});
    for (size_t i = 0; i < graph_.parameters.size(); ++i) {
      const OpId op = graph_.parameters[i];
      if (!graph_.ops[op].live) continue;
      StateKind kind = StateKind::kData;
      // Data parameters without a batch belong to the model: frozen weights.
      const bool is_frozen =
          batch.ok() && !(*batch)[i].has_value() &&
          graph_.values[graph_.ops[op].first_result].shape->rank() > 0;
      if (model_.roles.parameters[model_.parameter_of_leaf[i]].role !=
              ParameterRole::kData ||
          is_frozen) {
        kind = behind[op] ? StateKind::kWeight : StateKind::kOptimizer;
      }
      model_.kinds[GroupOf(op)] = kind;
      if (batch.ok()) model_.batch_dims[GroupOf(op)] = (*batch)[i];
    }
  }

  // What leads to the next value of a loop's carry, as far as partial sums can
  // pass.
  void FindPending() {
    model_.may_pend.assign(model_.groups.count(), false);
    std::vector<OpId> stack;
    for (const Loop& loop : graph_.loops) {
      for (const OpId carry : loop.carries) stack.push_back(carry);
    }
    std::vector<bool> seen(graph_.ops.size(), false);
    while (!stack.empty()) {
      const OpId id = stack.back();
      stack.pop_back();
      const FlatOp& op = graph_.ops[id];
      if (seen[id] || !op.live || model_.rules[id].linear.empty()) continue;
      seen[id] = true;
      model_.may_pend[GroupOf(id)] = true;
      for (size_t i = op.kind == OpKind::kCarry ? 1 : 0; i < op.operands.size();
           ++i) {
        stack.push_back(graph_.values[op.operands[i]].producer);
      }
    }
  }

  // Results of kernels are materialised; what is fused or recomputed is not.
  void FindStored() {
    for (GroupValue& value : model_.values) {
      value.is_stored = !model_.rule(value.group).cheap_to_repeat &&
                        (model_.op(value.group).kind != OpKind::kCompute ||
                         model_.traffic_of(value.group).is_root);
    }
  }

  StepModel& model_;
  const FlatGraph& graph_;
};

}  // namespace

std::vector<int32_t> ParametersOfLeaves(const Module& module) {
  std::vector<int32_t> parameters;
  int32_t number = 0;
  for (const Instruction* parameter : module.entry()->Parameters()) {
    parameters.insert(parameters.end(), Leaves(parameter->shape).size(),
                      number++);
  }
  return parameters;
}

std::vector<std::pair<OpId, OpId>> StateOps(const Module& module,
                                            const ModuleRoles& roles,
                                            const FlatGraph& graph) {
  const std::vector<int32_t> parameters = ParametersOfLeaves(module);
  std::vector<std::pair<OpId, OpId>> ops;
  for (const StatePair& pair : roles.state_pairs) {
    const auto leaf = std::ranges::lower_bound(parameters, pair.parameter);
    ops.emplace_back(graph.parameters[leaf - parameters.begin()],
                     graph.outputs[pair.output]);
  }
  return ops;
}

std::string ParameterName(const StepModel& model, size_t leaf) {
  if (leaf >= model.parameter_of_leaf.size()) return "";
  return model.roles.parameters[model.parameter_of_leaf[leaf]].name;
}

StepModel ModelStep(const Module& module, const FusionStyle& style,
                    const MeshPins* pins) {
  StepModel model;
  model.module = &module;
  model.roles = AnalyzeRoles(module);
  model.graph = Flatten(module);
  Modeller modeller(model);
  SideBySide(2, [&](int i) {
    if (i == 0) {
      model.traffic = TrafficOf(module, model.graph, style);
    } else {
      modeller.FindGroups(pins);
    }
  });
  modeller.FindMemory();
  return model;
}

}  // namespace meshwright
