#include "meshwright/explain/explain_study.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/cost/price_list.h"
#include "meshwright/hlo/opcode.h"
#include "meshwright/mesh/sharding_text.h"
#include "meshwright/plan/step_names.h"
#include "meshwright/plan/verify_plan.h"
#include "meshwright/planner/loop_pins.h"
#include "meshwright/planner/mesh_search.h"
#include "meshwright/planner/plan_prices.h"
#include "meshwright/planner/search_policy.h"
#include "meshwright/planner/steering.h"
#include "meshwright/search/expert.h"

namespace meshwright {
namespace {

// Table cells that the solver may touch for one question, so that answers do
// not depend on the clock.
constexpr int64_t kWork = 100'000'000;
constexpr double kSeconds = 600;
constexpr double kGap = 1e-5;

Prices WithLinks(Prices prices, double speed) {
  if (speed == 1) return prices;
  const auto scale = [&](CollectivePrice& price) {
    price.latency /= speed;
    price.per_wire_byte /= speed;
  };
  scale(prices.collective);
  if (!prices.by_axes.empty()) {
    std::vector<Prices::ByKind> table = std::move(prices.by_axes);
    for (Prices::ByKind& kinds : table) {
      for (CollectivePrice& price : kinds) scale(price);
    }
    prices.SetByAxes(std::move(table));
  }
  return prices;
}

void KeepOnly(int32_t option, ProblemNode& node) {
  for (size_t i = 0; i < node.costs.size(); ++i) {
    if (static_cast<int32_t>(i) != option) node.costs[i] = kInfiniteCost;
  }
}

int64_t Cell(const Problem& problem, const ProblemEdge& edge, int32_t a,
             int32_t b) {
  const CostTable& table = problem.tables[edge.table];
  return table.cells[static_cast<size_t>(a) * table.columns + b];
}

// Gives each value that groups share its cheapest form; if several cost the
// same, the one with the least memory, which the solver does not ensure. The
// nodes of these values come after the groups and have edges to groups only.
void SettleCopies(const Problem& problem, int32_t groups,
                  std::vector<int32_t>& nodes) {
  const size_t count = problem.nodes.size();
  std::vector<std::vector<int64_t>> costs(count);
  for (size_t n = groups; n < count; ++n) costs[n] = problem.nodes[n].costs;
  for (const ProblemEdge& edge : problem.edges) {
    if (edge.a < groups && edge.b < groups) continue;
    const bool is_first = edge.a >= groups;
    std::vector<int64_t>& of = costs[is_first ? edge.a : edge.b];
    for (size_t i = 0; i < of.size(); ++i) {
      const int32_t own = static_cast<int32_t>(i);
      of[i] =
          AddCosts(of[i], Cell(problem, edge, is_first ? own : nodes[edge.a],
                               is_first ? nodes[edge.b] : own));
    }
  }
  for (size_t n = groups; n < count; ++n) {
    const auto key = [&](size_t option) {
      int64_t usage = 0;
      for (const UsagePiece& piece : problem.nodes[n].pieces) {
        usage += piece.usage[option];
      }
      return std::make_pair(costs[n][option], usage);
    };
    for (size_t i = 0; i < costs[n].size(); ++i) {
      if (key(i) < key(nodes[n])) nodes[n] = static_cast<int32_t>(i);
    }
  }
}

// Assigns `option` to `group`, and a possible option to groups whose own option
// then becomes impossible: the next value of a state follows the state
// parameter.
void Force(const Problem& problem, int32_t groups, GroupId group,
           int32_t option, std::vector<int32_t>& nodes) {
  std::vector<std::vector<int32_t>> edges(groups);
  for (size_t i = 0; i < problem.edges.size(); ++i) {
    const ProblemEdge& edge = problem.edges[i];
    if (edge.a >= groups || edge.b >= groups || edge.a == edge.b) continue;
    edges[edge.a].push_back(static_cast<int32_t>(i));
    edges[edge.b].push_back(static_cast<int32_t>(i));
  }
  nodes[group] = option;
  std::vector<bool> is_changed(groups, false);
  is_changed[group] = true;
  std::vector<int32_t> open = {group};
  while (!open.empty()) {
    const int32_t now = open.back();
    open.pop_back();
    for (const int32_t index : edges[now]) {
      const ProblemEdge& edge = problem.edges[index];
      const auto is_possible = [&] {
        return Cell(problem, edge, nodes[edge.a], nodes[edge.b]) <
               kInfiniteCost;
      };
      const int32_t other = edge.a == now ? edge.b : edge.a;
      if (is_changed[other] || is_possible()) continue;
      is_changed[other] = true;
      open.push_back(other);
      const std::vector<int64_t>& costs = problem.nodes[other].costs;
      for (size_t i = 0; i < costs.size(); ++i) {
        nodes[other] = static_cast<int32_t>(i);
        if (costs[i] < kInfiniteCost && is_possible()) break;
      }
    }
  }
  SettleCopies(problem, groups, nodes);
}

}  // namespace

PlanStudy::PlanStudy(const Plan& plan, PlannedStep step,
                     Annotations annotations)
    : plan_(plan),
      step_(std::move(step)),
      pins_given_{plan.mesh(), std::move(annotations)},
      model_(std::make_unique<StepModel>(
          ModelStep(step_.module(), FusionStyleFor(plan_.cluster.IsCpu()),
                    &pins_given_))) {}

absl::StatusOr<std::unique_ptr<PlanStudy>> PlanStudy::Of(
    const Module& module, const Plan& plan, Annotations annotations) {
  PlannedStep step;
  const auto make_step = [&]() -> absl::StatusOr<const Module*> {
    MW_ASSIGN_OR_RETURN(step, PlannedStep::Of(module, plan));
    return &step.module();
  };
  MW_RETURN_IF_ERROR(Verify(plan, module, {.step = make_step}));
  if (!plan.steering.pins.empty()) {
    MW_ASSIGN_OR_RETURN(annotations,
                        PinsOf(plan.steering, step.module(),
                               Flatten(step.module()), plan.mesh()));
  } else if (step.is_made()) {
    annotations = PinsInLoop(annotations, step.module(), plan.micro_batches);
  }
  std::unique_ptr<PlanStudy> study(
      new PlanStudy(plan, std::move(step), std::move(annotations)));
  study->expert_ =
      RequirementOf(plan.strategy, *study->model_, plan.mesh(),
                    plan.mesh().FindAxis(plan.steering.batch_axis));
  MW_ASSIGN_OR_RETURN(
      study->pins_,
      PinnedGroups(*study->model_, study->pins_given_.given, plan.mesh()));
  const FlatGraph& graph = study->model_->graph;
  MW_ASSIGN_OR_RETURN(
      std::vector<Rule> rules,
      RulesOf(plan.steering, study->step_.module(), graph, plan.mesh()));
  MW_ASSIGN_OR_RETURN(const Assignment planned,
                      AssignmentOf(plan.layouts[0], graph, std::move(rules)));
  study->RestrictToNear(planned.strategies);
  study->FindChosen(planned.strategies);
  MW_RETURN_IF_ERROR(study->EvaluatePlan());
  return study;
}

const PlanStudy::PricedProblem& PlanStudy::Priced(const Whatif& whatif) const {
  const std::pair<double, int32_t> as_planned = {1, Whatif::kNothingMore};
  const std::pair<double, int32_t> key = {whatif.link_speed, whatif.allowed};
  const auto known = priced_.find(key);
  if (known != priced_.end()) return known->second;
  std::erase_if(priced_,
                [&](const auto& entry) { return entry.first != as_planned; });
  std::vector<Forbidden> forbidden = plan_.steering.forbidden;
  if (whatif.allowed == Whatif::kAnyCollective) {
    forbidden.clear();
  } else if (whatif.allowed >= 0) {
    forbidden.erase(forbidden.begin() + whatif.allowed);
  }
  MeshTask task{.mesh = plan_.mesh(),
                .prices = WithLinks(PlanPrices(plan_.rates, plan_.cluster,
                                               forbidden, plan_.mesh()),
                                    whatif.link_speed),
                .rates = &plan_.rates,
                .requirements = {.pins = pins_, .offers_only = true}};
  PricedProblem& made =
      priced_.try_emplace(key, PricedProblem{.task = std::move(task)})
          .first->second;
  made.resharder =
      std::make_unique<Resharder>(&made.task.mesh, made.task.prices);
  made.problem = std::make_unique<MeshProblem>(
      *model_, made.task, *made.resharder, near_ ? &*near_ : nullptr);
  return made;
}

void PlanStudy::RestrictToNear(const std::vector<Strategy>& planned) {
  if (IsSmall(*model_, plan_.mesh(), SearchPolicy())) return;
  near_.emplace(OneAxisFree{.free = OneAxisFree::kAnyAxis});
  for (GroupId g{0}; g < model_->groups.count(); ++g) {
    near_->places.push_back(
        AxisPlacesOf(planned[model_->groups.members[g][0]], plan_.mesh()));
  }
}

void PlanStudy::FindChosen(const std::vector<Strategy>& planned) {
  chosen_.assign(model_->groups.count(), -1);
  for (GroupId g{0}; g < model_->groups.count(); ++g) {
    const Strategy& taken = planned[model_->groups.members[g][0]];
    const std::vector<Option>& options = problem().options(g);
    for (size_t i = 0; i < options.size(); ++i) {
      if (options[i].strategy == taken) chosen_[g] = static_cast<int32_t>(i);
    }
  }
}

absl::Status PlanStudy::EvaluatePlan() {
  Problem fixed = problem().problem();
  for (size_t g = 0; g < chosen_.size(); ++g) {
    if (chosen_[g] >= 0) KeepOnly(chosen_[g], fixed.nodes[g]);
  }
  MW_ASSIGN_OR_RETURN(as_planned_, SolveOne(fixed, std::nullopt, {}));
  return absl::OkStatus();
}

bool PlanStudy::Allows(GroupId group, int32_t option,
                       const Whatif& whatif) const {
  const MeshProblem& of = problem();
  const Option& one = of.options(group)[option];
  const Sharding whole;
  const Sharding& lies = model_->op(group).kind == OpKind::kOutput
                             ? of.pool()[one.operands[0]]
                         : one.results.empty() ? whole
                                               : of.pool()[one.results[0]];
  const auto pins = pins_.find(group);
  if (pins != pins_.end() && !whatif.no_pins) {
    bool is_pinned = false;
    for (const GroupPin& pin : pins->second) {
      if (whatif.unpinned.contains(pin.group)) continue;
      if (!Keeps(one, pin, of.pool())) return false;
      is_pinned = true;
    }
    if (is_pinned) return true;
  }
  return whatif.any_strategy || !expert_ || expert_(group, lies);
}

absl::StatusOr<Answer> PlanStudy::Ask(const Whatif& asked) const {
  Whatif whatif = asked;
  // The forced option need not be allowed by pins; nor need that of a group
  // that is pinned with it, such as the next value of a state parameter.
  if (const auto pins = pins_.find(whatif.group); pins != pins_.end()) {
    for (const GroupPin& pin : pins->second) whatif.unpinned.insert(pin.group);
  }
  Problem problem = Priced(whatif).problem->problem();
  for (GroupId g{0}; g < model_->groups.count(); ++g) {
    std::vector<int64_t>& costs = problem.nodes[g].costs;
    for (size_t i = 0; i < costs.size(); ++i) {
      if (g != whatif.group && !Allows(g, static_cast<int32_t>(i), whatif)) {
        costs[i] = kInfiniteCost;
      }
    }
  }
  if (whatif.group >= 0) KeepOnly(whatif.option, problem.nodes[whatif.group]);
  if (report_) report_();
  ++questions_;
  std::optional<int64_t> limit = whatif.memory.value_or(plan_.memory_bytes);
  if (whatif.any_memory) limit.reset();
  std::vector<int32_t> start = as_planned_.nodes;
  if (whatif.group >= 0) {
    Force(problem, model_->groups.count(), whatif.group, whatif.option, start);
  }
  return SolveOne(problem, limit, std::move(start));
}

absl::StatusOr<Answer> PlanStudy::SolveOne(const Problem& problem,
                                           std::optional<int64_t> limit,
                                           std::vector<int32_t> start) const {
  SolveOptions options{
      .time_limit_seconds = kSeconds, .work_limit = kWork, .gap = kGap};
  options.initial = std::move(start);
  Problem limited = problem;
  if (limit.has_value() && model_->points > 0) {
    LimitMemory(*limit, model_->points, MeshPolicy(), limited);
  }
  MW_ASSIGN_OR_RETURN(const Solution solution, Solve(limited, options));
  Answer answer;
  answer.seconds = SecondsOfUnits(solution.cost);
  answer.bound = SecondsOfUnits(solution.lower_bound);
  answer.nodes = solution.assignment;
  SettleCopies(problem, model_->groups.count(), answer.nodes);
  answer.peak_bytes = Evaluate(problem, answer.nodes).peak_usage;
  for (GroupId g{0}; g < model_->groups.count(); ++g) {
    answer.compute_seconds +=
        SecondsOfUnits(problem.nodes[g].costs[answer.nodes[g]]);
  }
  answer.move_seconds = answer.seconds - answer.compute_seconds;
  return answer;
}

GroupId PlanStudy::GroupNamed(absl::string_view name) const {
  const FlatGraph& graph = model_->graph;
  for (size_t i = 0; i < graph.parameters.size(); ++i) {
    if (ParameterName(*model_, i) == name) {
      return model_->groups.group_of[graph.parameters[i]];
    }
  }
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    const FlatOp& op = graph.ops[i];
    if (op.live && op.kind == OpKind::kCompute &&
        op.instruction->name == name) {
      return model_->groups.group_of[i];
    }
  }
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    if (model_->roles.outputs[i].name == name) {
      return model_->groups.group_of[graph.outputs[i]];
    }
  }
  return kNoGroup;
}

std::string PlanStudy::NameOf(GroupId group) const {
  const FlatGraph& graph = model_->graph;
  const OpId first = model_->groups.members[group][0];
  for (size_t i = 0; i < graph.parameters.size(); ++i) {
    if (graph.parameters[i] == first) {
      return ParameterName(*model_, i);
    }
  }
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    if (graph.outputs[i] == first) return model_->roles.outputs[i].name;
  }
  return graph.ops[first].instruction->name;
}

std::string PlanStudy::OpcodeOf(GroupId group) const {
  const FlatOp& op = model_->op(group);
  return op.kind == OpKind::kOutput ? "output"
                                    : std::string(Name(op.instruction->opcode));
}

std::string PlanStudy::ShapeOf(GroupId group) const {
  const FlatOp& op = model_->op(group);
  const FlatGraph& graph = model_->graph;
  if (op.result_count > 0) {
    return graph.values[op.first_result].shape->ToString();
  }
  return graph.values[op.operands[0]].shape->ToString();
}

std::string PlanStudy::TextOf(GroupId group, int32_t option) const {
  const MeshProblem& of = problem();
  const Option& one = of.options(group)[option];
  const auto texts = [&](const std::vector<ShardingId>& ids) {
    std::vector<std::string> all;
    for (const ShardingId id : ids) {
      all.push_back(ToString(of.pool()[id], plan_.mesh()));
    }
    return all;
  };
  const std::string operands = absl::StrJoin(texts(one.operands), " x ");
  const std::string results = absl::StrJoin(texts(one.results), ", ");
  if (operands.empty()) return results;
  return results.empty() ? operands : absl::StrCat(operands, " -> ", results);
}

}  // namespace meshwright
