#include "meshwright/planner/price_whole_ops.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "meshwright/analysis/display_names.h"
#include "meshwright/analysis/flops.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/cost/op_time.h"
#include "meshwright/cost/program_memory.h"
#include "meshwright/partition/whole_ops.h"
#include "meshwright/plan/step_names.h"
#include "meshwright/planner/plan_prices.h"
#include "meshwright/planner/planner.h"
#include "meshwright/planner/steering.h"
#include "meshwright/reshard/reshard.h"
#include "meshwright/rules/rule_text.h"
#include "meshwright/rules/suggest_rule.h"
#include "meshwright/search/step_model.h"

namespace meshwright {
namespace {

// Seconds of individual ops, as in the program's prediction.
class OpClock {
 public:
  OpClock(const Module& module, const Rates& rates, bool is_cpu)
      : rates_(rates),
        work_(module),
        kernels_(KernelsOf(module, work_, FusionStyleFor(is_cpu))) {
    for (const auto& [computation, kernels] : kernels_) {
      for (const Kernel& kernel : kernels) by_root_[kernel.root] = &kernel;
    }
  }

  // On each of `devices` that share it evenly.
  double SecondsOf(const Instruction& instruction, double devices) const {
    const auto kernel = by_root_.find(&instruction);
    if (kernel != by_root_.end()) {
      return KernelSeconds(*kernel->second, rates_, devices);
    }
    LocalWork part{.unit = UnitOf(instruction),
                   .work = 1 / devices * work_.Of(instruction)};
    return FusedSeconds(part, rates_);
  }

 private:
  const Rates& rates_;
  const ModuleWork work_;
  const ProgramKernels kernels_;
  absl::flat_hash_map<const Instruction*, const Kernel*> by_root_;
};

// A step, partitioned as in a plan.
struct SplitGraph {
  const Module& module;
  const FlatGraph& graph;
  const Mesh& mesh;
  const Assignment& assignment;

  Sharding Of(ValueId value) const {
    const FlatValue& from = graph.values[value];
    return ResultSharding(assignment.rules[from.producer],
                          assignment.strategies[from.producer], from.result,
                          mesh);
  }
  Sharding WantedBy(OpId op, int32_t operand) const {
    return OperandSharding(assignment.rules[op], assignment.strategies[op],
                           operand, mesh);
  }
  // Every device computes all of it.
  bool IsWhole(OpId op) const {
    const Strategy& strategy = assignment.strategies[op];
    return strategy.pending.empty() &&
           std::ranges::all_of(strategy.factor_axes, &AxisList::empty);
  }
};

// By value: whether it depends on the step's data.
std::vector<bool> DependsOnData(const SplitGraph& step) {
  const FlatGraph& graph = step.graph;
  const ModuleRoles roles = AnalyzeRoles(step.module);
  const std::vector<int32_t> parameters = ParametersOfLeaves(step.module);
  std::vector<bool> depends(graph.values.size(), false);
  for (size_t i = 0; i < graph.parameters.size(); ++i) {
    depends[graph.ops[graph.parameters[i]].first_result] =
        roles.parameters[parameters[i]].role == ParameterRole::kData;
  }
  // Repeated because of loops' back edges.
  for (bool is_changed = true; is_changed;) {
    is_changed = false;
    for (const FlatOp& op : graph.ops) {
      if (!op.live || op.result_count == 0 || depends[op.first_result] ||
          std::ranges::none_of(op.operands,
                               [&](ValueId v) { return depends[v]; })) {
        continue;
      }
      for (int32_t r = 0; r < op.result_count; ++r) {
        depends[op.first_result + r] = true;
      }
      is_changed = true;
    }
  }
  return depends;
}

// All-gathers that are caused by unsplit ops. Each is counted for the first op
// for which it is asked about.
class Gathers {
 public:
  Gathers(const SplitGraph& step, const Prices& prices)
      : step_(step),
        resharder_(&step.mesh, prices),
        depends_(DependsOnData(step)),
        users_(UsersOf(step.graph)),
        seen_(step.graph.ops.size(), false) {}

  void AddTo(OpId whole, WholeOpCost& cost) {
    std::vector<OpId> open = {whole};
    seen_[whole] = true;
    while (!open.empty()) {
      const OpId op = open.back();
      open.pop_back();
      const FlatOp& of = step_.graph.ops[op];
      for (size_t k = 0; k < of.operands.size(); ++k) {
        const ValueId value = of.operands[k];
        if (!depends_[value]) continue;
        const auto operand = static_cast<int32_t>(k);
        const OpId producer = step_.graph.values[value].producer;
        if (step_.Of(value) != step_.WantedBy(op, operand)) {
          AddMove(value, op, operand, cost);
        } else if (!seen_[producer] && step_.IsWhole(producer)) {
          seen_[producer] = true;
          open.push_back(producer);
        }
      }
    }
  }

 private:
  void AddMove(ValueId value, OpId op, int32_t operand, WholeOpCost& cost) {
    const Sharding wanted = step_.WantedBy(op, operand);
    const bool is_apart = step_.assignment.sharing[value] == Sharing::kApart;
    if (!is_apart &&
        (!counted_.insert(value).second || IsWantedSplit(value, wanted))) {
      return;
    }
    const FlatOp& of = step_.graph.ops[op];
    double times =
        of.kind == OpKind::kCarry && operand == 0 ? of.entries : of.repeats;
    if (!is_apart) {
      times = std::min(times, step_.graph.producer(value).repeats);
    }
    for (const ReshardStep& one :
         resharder_.Path(step_.graph.values[value].shape->element_type,
                         step_.Of(value), wanted)) {
      if (one.kind != MoveKind::kAllGather) continue;
      cost.gathered_bytes += times * one.wire_bytes;
      cost.gather_seconds += times * one.price;
    }
  }

  // An op that is split needs the value in this sharding.
  bool IsWantedSplit(ValueId value, const Sharding& wanted) const {
    return std::ranges::any_of(users_[value], [&](OpId user) {
      if (step_.IsWhole(user)) return false;
      const std::vector<ValueId>& operands = step_.graph.ops[user].operands;
      for (size_t k = 0; k < operands.size(); ++k) {
        if (operands[k] == value &&
            step_.WantedBy(user, static_cast<int32_t>(k)) == wanted) {
          return true;
        }
      }
      return false;
    });
  }

  const SplitGraph& step_;
  Resharder resharder_;
  const std::vector<bool> depends_;
  const std::vector<std::vector<OpId>> users_;
  std::vector<bool> seen_;  // By op.
  std::set<ValueId> counted_;
};

// For ops of a kind: the rule that suits all of them, and the advice.
void Advise(const SplitGraph& step, const std::vector<OpId>& ops,
            WholeOpCost& cost) {
  const Instruction& first = *step.graph.ops[ops[0]].instruction;
  cost.advice = AdviceOnRule(first);
  const std::optional<std::string> of_kernel = SuggestKernelRule(first);
  const std::optional<std::string> rule =
      of_kernel.has_value() ? of_kernel : SuggestRule(first);
  if (!rule.has_value()) return;
  const bool fits_all = std::ranges::all_of(ops, [&](OpId op) {
    return ParseRule(*rule, *step.graph.ops[op].instruction).ok();
  });
  if (of_kernel.has_value()) {
    if (fits_all) return;
    cost.advice = absl::StrCat(
        "several kernels share this target, and their programs are for the "
        "whole shapes: wrap the function of each with meshwright.kernel(fn, "
        "rule=...), as \"",
        *rule, "\" for ", cost.name);
  } else if (fits_all) {
    cost.rule = *rule;
  } else {
    cost.advice = absl::StrCat(
        "its calls differ in their dimensions: give each a rule of its own (",
        kRuleAttribute, "), as \"", *rule, "\" for ", cost.name);
  }
}

std::vector<WholeOpCost> PriceOps(const SplitGraph& step, const Plan& plan) {
  std::map<std::string, std::vector<OpId>> kinds;
  for (const OpId op : WholeOps(step.graph, step.assignment.rules)) {
    kinds[TargetOrOpcode(*step.graph.ops[op].instruction)].push_back(op);
  }
  if (kinds.empty()) return {};
  const auto devices = static_cast<double>(step.mesh.device_count());
  const OpClock clock(step.module, plan.rates, plan.cluster.IsCpu());
  const DisplayNames names(step.module, AnalyzeRoles(step.module));
  Gathers gathers(step, PlanPrices(plan, step.mesh));
  std::vector<WholeOpCost> costs;
  for (const auto& [target, ops] : kinds) {
    WholeOpCost& cost = costs.emplace_back();
    cost.target = target;
    cost.name = names.Of(*step.graph.ops[ops[0]].instruction);
    for (const OpId id : ops) {
      const FlatOp& op = step.graph.ops[id];
      cost.count += op.repeats;
      cost.seconds += op.repeats * clock.SecondsOf(*op.instruction, 1);
      cost.even_seconds +=
          op.repeats * clock.SecondsOf(*op.instruction, devices);
      gathers.AddTo(id, cost);
    }
    Advise(step, ops, cost);
  }
  std::ranges::stable_sort(costs, std::greater(), &WholeOpCost::LostSeconds);
  return costs;
}

}  // namespace

absl::StatusOr<std::vector<WholeOpCost>> PriceWholeOps(const Module& module,
                                                       const Plan& plan) {
  if (plan.mesh().device_count() == 1) return std::vector<WholeOpCost>();
  const FlatGraph given = Flatten(module);
  if (WholeOps(given, RulesOf(given)).empty()) {
    return std::vector<WholeOpCost>();
  }
  MW_ASSIGN_OR_RETURN(const PlannedStep step, PlannedStep::Of(module, plan));
  const FlatGraph graph = Flatten(step.module());
  MW_ASSIGN_OR_RETURN(
      std::vector<Rule> rules,
      RulesOf(plan.steering, step.module(), graph, plan.mesh()));
  MW_ASSIGN_OR_RETURN(const Assignment assignment,
                      AssignmentOf(plan.layouts[0], graph, std::move(rules)));
  return PriceOps({step.module(), graph, plan.mesh(), assignment}, plan);
}

}  // namespace meshwright
