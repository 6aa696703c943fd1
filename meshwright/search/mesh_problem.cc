#include "meshwright/search/mesh_problem.h"

#include <algorithm>
#include <cmath>

#include "meshwright/cost/instruction_time.h"
#include "meshwright/cost/op_time.h"
#include "meshwright/cost/workspaces.h"
#include "meshwright/partition/forbidden.h"
#include "meshwright/reshard/exchange_price.h"
#include "meshwright/rules/recorded_flops.h"

namespace meshwright {

// The largest possible use of small values is subtracted from the limit, which
// leaves the solver free to treat them exactly.
void LimitMemory(int64_t limit, int32_t points, const MeshPolicy& policy,
                 Problem& problem) {
  const int64_t little =
      static_cast<int64_t>(static_cast<double>(limit) * policy.small_value);
  std::vector<int64_t> aside(points, 0);
  for (ProblemNode& node : problem.nodes) {
    const auto counts = [&](const UsagePiece& piece) {
      const int64_t most =
          *std::max_element(piece.usage.begin(), piece.usage.end());
      if (most > little) return true;
      for (int64_t t = piece.first; t < piece.last; ++t) aside[t] += most;
      return false;
    };
    std::vector<UsagePiece> kept;
    for (UsagePiece& piece : node.pieces) {
      if (counts(piece)) kept.push_back(std::move(piece));
    }
    node.pieces = std::move(kept);
  }
  for (int32_t t = 0; t < points; ++t) {
    problem.limits.push_back(
        {.first = t, .last = t + 1, .limit = limit - aside[t]});
  }
}

MeshProblem::MeshProblem(const StepModel& model, const MeshTask& task,
                         Resharder& resharder, const OneAxisFree* only,
                         Parts parts)
    : model_(model),
      task_(task),
      mesh_(task.mesh),
      resharder_(resharder),
      reshards_(pool_, task.FurtherArray(), resharder, problem_) {
  const int32_t groups = model.groups.count();
  options_.resize(groups);
  const OptionMaker maker(model, mesh_, task.requirements, pool_);
  for (GroupId g{0}; g < groups; ++g) AddGroup(g, maker.For(g, only));
  if (parts == Parts::kWork) return;
  for (const auto& [parameter, output] : model.state_pairs) {
    AddStatePair(parameter, output);
  }
  AddCopies();
  AddUses();
  if (task.memory_limit.has_value() && model.points > 0) {
    LimitMemory(*task.memory_limit, model.points, task.policy, problem_);
  }
}

double MeshProblem::LeastWork() const {
  int64_t least = 0;
  for (GroupId g{0}; g < model_.groups.count(); ++g) {
    least = AddCosts(least, *std::ranges::min_element(problem_.nodes[g].costs));
  }
  return SecondsOfUnits(least);
}

double MeshProblem::LocalBytes(const Shape& shape, ShardingId sharding) const {
  return meshwright::LocalBytes(shape, pool_[sharding], mesh_);
}

std::vector<ShardingId> MeshProblem::Results(GroupValueId value) const {
  const GroupValue& of = model_.values[value];
  std::vector<ShardingId> forms;
  for (const Option& option : options_[of.group]) {
    forms.push_back(option.results[of.result]);
  }
  return forms;
}

ShardingId MeshProblem::ResultOf(GroupValueId value,
                                 absl::Span<const int32_t> chosen) const {
  const GroupValue& of = model_.values[value];
  return options_[of.group][chosen[of.group]].results[of.result];
}

std::vector<ShardingId> MeshProblem::Operands(GroupId group,
                                              int32_t operand) const {
  std::vector<ShardingId> forms;
  for (const Option& option : options_[group]) {
    forms.push_back(option.operands[operand]);
  }
  return forms;
}

const Computation* MeshProblem::BodyOf(GroupId group,
                                       const Option& option) const {
  const Rule& rule = model_.rule(group);
  if (!rule.manual_axes.empty()) return model_.op(group).instruction->called[0];
  if (rule.variants.empty()) return nullptr;
  TensorSizes sizes;
  for (const auto* tensors : {&option.operands, &option.results}) {
    for (const ShardingId tensor : *tensors) {
      const auto local = LocalDimensions(pool_[tensor], mesh_);
      sizes.insert(sizes.end(), local.begin(), local.end());
    }
  }
  const auto found = std::ranges::find(rule.variants, sizes);
  if (found == rule.variants.end()) return nullptr;
  return model_.op(group).instruction->called[found - rule.variants.begin()];
}

// Computing, and the communication inside its lowering.
double MeshProblem::WorkOf(GroupId group, const Option& option) const {
  const FlatOp& op = model_.op(group);
  const Rule& rule = model_.rule(group);
  if (op.kind != OpKind::kCompute || !Exchanges(rule, option.strategy)) {
    return task_.ComputingWeight() * ComputingOf(group, option, std::nullopt);
  }
  const Exchange exchange =
      ExchangeOf(*op.instruction, rule, option.strategy, mesh_, task_.prices);
  std::optional<double> flops;
  if (exchange.attention_flops > 0) flops = exchange.attention_flops;
  return task_.ComputingWeight() * ComputingOf(group, option, flops) +
         exchange.price;
}

// The longer of arithmetic and memory traffic. Of a user's kernel or a
// shard_map region, the time of its body. `flops`: per device, if that is not
// the op's share of the whole.
double MeshProblem::ComputingOf(GroupId group, const Option& option,
                                std::optional<double> flops) const {
  const FlatOp& op = model_.op(group);
  const OpTraffic& traffic = model_.traffic_of(group);
  if (op.kind != OpKind::kCompute || traffic.kernels == 0) return 0;
  const Computation* body = BodyOf(group, option);
  double of_body = 0;
  if (body != nullptr) {
    of_body = ComputationSeconds(*body, model_.traffic.bodies, *task_.rates);
    if (!RecordedFlops(*op.instruction).has_value()) return of_body;
  }
  const Rule& rule = model_.rule(group);
  double part = 1;  // Of the whole, per device.
  for (size_t i = 0; i < rule.factors.size(); ++i) {
    // Skips empty workspaces, and factors that are tied to another.
    if (rule.factors[i].size == 0 || rule.factors[i].tied >= 0) continue;
    part *= static_cast<double>(LocalFactorSize(
                rule, option.strategy, static_cast<int32_t>(i), mesh_)) /
            static_cast<double>(rule.factors[i].size);
  }
  double bytes = 0;
  for (size_t i = 0; i < op.operands.size(); ++i) {
    if (traffic.reads[i] == 0) continue;
    bytes += traffic.reads[i] *
             LocalBytes(*model_.graph.values[op.operands[i]].shape,
                        option.operands[i]);
  }
  for (const GroupValueId value : model_.group_values[group]) {
    if (!traffic.is_root) continue;
    bytes += traffic.writes *
             LocalBytes(*model_.values[value].shape,
                        option.results[model_.values[value].result]);
  }
  Work local_work = part * model_.work[group];
  if (flops.has_value()) local_work.flops = *flops;
  KernelPart share{.local = LocalWorkOf(group, option, local_work),
                   .kernel = part * traffic.kernel,
                   .kernels = traffic.kernels,
                   .is_start = traffic.is_start,
                   .scratch_bytes = part * traffic.scratch_bytes};
  share.local.work.bytes = bytes;
  share.local.column_steps = part * traffic.column_steps;
  return std::max(of_body, PartSeconds(share, *task_.rates));
}

LocalWork MeshProblem::LocalWorkOf(GroupId group, const Option& option,
                                   const Work& work) const {
  const FlatOp& op = model_.op(group);
  const OpTraffic& traffic = model_.traffic_of(group);
  const auto sizes = [&](const std::vector<ShardingId>& of, size_t index) {
    return index < of.size() ? LocalDimensions(pool_[of[index]], mesh_)
                             : std::vector<int64_t>();
  };
  LocalWork local{.work = work};
  if (UnitOf(*op.instruction) != Unit::kVector) {
    const auto lhs = sizes(option.operands, 0);
    const auto rhs = sizes(option.operands, 1);
    const auto result = sizes(option.results, 0);
    local = meshwright::LocalWorkOf(*op.instruction, work, {lhs, rhs, result});
    for (const int32_t operand : traffic.repacked) {
      local.repacked_bytes +=
          LocalBytes(*model_.graph.values[op.operands[operand]].shape,
                     option.operands[operand]);
    }
  }
  local.strided = traffic.strided;
  local.turns_filter = traffic.turns_filter;
  local.holds_rows = traffic.holds_rows;
  local.unaligned = local.unaligned || traffic.unaligned_rows;
  return local;
}

// State, what is computed at the end of a step, and what the micro-batch loop
// carries.
bool MeshProblem::IsKept(GroupId group) const {
  const FlatOp& op = model_.op(group);
  return op.region == 0 || (op.kind == OpKind::kCarry && op.entries == 1);
}

void MeshProblem::AddUsage(const std::vector<float>& alive,
                           const std::vector<double>& bytes,
                           ProblemNode& node) const {
  const int32_t points = model_.points;
  for (int32_t first = 0; first < points;) {
    int32_t last = first + 1;
    while (last < points && alive[last] == alive[first]) ++last;
    if (alive[first] > 0) {
      UsagePiece piece{.first = first, .last = last};
      for (const double each : bytes) {
        piece.usage.push_back(static_cast<int64_t>(
            std::ceil(each * static_cast<double>(alive[first]))));
      }
      node.pieces.push_back(std::move(piece));
    }
    first = last;
  }
}

void MeshProblem::AddGroup(GroupId group, std::vector<Option> options) {
  ProblemNode node;
  if (options.empty()) {
    impossible_.push_back(group);
    options.push_back(OptionsOf(model_.rule(group), mesh_, pool_)[0]);
  }
  options_[group] = std::move(options);
  for (const Option& option : options_[group]) {
    node.costs.push_back(
        UnitsOf(WorkOf(group, option) * model_.weights[group]));
  }
  for (const GroupValueId value : model_.group_values[group]) {
    std::vector<double> bytes;
    for (const ShardingId form : Results(value)) {
      bytes.push_back(LocalBytes(*model_.values[value].shape, form) /
                      (IsKept(group) ? task_.stages : 1));
    }
    AddUsage(model_.values[value].alive, bytes, node);
  }
  if (!model_.working[group].empty()) AddWorkspace(group, node);
  problem_.nodes.push_back(std::move(node));
}

void MeshProblem::AddWorkspace(GroupId group, ProblemNode& node) const {
  std::vector<double> bytes;
  for (const Option& option : options_[group]) {
    const auto sizes = [&](const std::vector<ShardingId>& of, size_t index) {
      return LocalDimensions(pool_[of[index]], mesh_);
    };
    const auto lhs = sizes(option.operands, 0);
    const auto rhs = sizes(option.operands, 1);
    const auto result = sizes(option.results, 0);
    bytes.push_back(static_cast<double>(
        WorkspaceBytes(*model_.op(group).instruction, {lhs, rhs, result})));
  }
  AddUsage(model_.working[group], bytes, node);
}

// The next value has the sharding of the parameter.
void MeshProblem::AddStatePair(GroupId parameter, GroupId output) {
  CostTable table;
  table.rows = static_cast<int32_t>(options_[parameter].size());
  table.columns = static_cast<int32_t>(options_[output].size());
  for (const Option& row : options_[parameter]) {
    for (const Option& column : options_[output]) {
      table.cells.push_back(
          row.results[0] == column.operands[0] ? 0 : kInfiniteCost);
    }
  }
  problem_.edges.push_back(
      {parameter, output, problem_.AddTable(std::move(table))});
}

void MeshProblem::AddCopies() {
  copy_of_.assign(model_.values.size(), -1);
  std::vector<std::vector<int32_t>> uses(model_.values.size());
  for (size_t i = 0; i < model_.uses.size(); ++i) {
    uses[model_.uses[i].value].push_back(static_cast<int32_t>(i));
  }
  for (GroupValueId v; v < std::ssize(model_.values); ++v) {
    const GroupValue& value = model_.values[v];
    if (uses[v].size() < 2 || !value.shape->IsArray() ||
        value.shape->rank() == 0 || model_.rule(value.group).cheap_to_repeat) {
      continue;
    }
    const std::vector<ShardingId> made = Results(v);
    std::vector<ShardingId> forms = made;
    for (const int32_t use : uses[v]) {
      const std::vector<ShardingId> wanted =
          Operands(model_.uses[use].user, model_.uses[use].operand);
      forms.insert(forms.end(), wanted.begin(), wanted.end());
    }
    std::sort(forms.begin(), forms.end());
    forms.erase(std::unique(forms.begin(), forms.end()), forms.end());
    const int32_t node = static_cast<int32_t>(problem_.nodes.size());
    const size_t count = forms.size();
    ProblemNode copy;
    copy.costs.assign(2 * count, 0);
    std::vector<double> bytes(2 * count, 0);
    for (size_t i = 0; i < count; ++i) {
      bytes[count + i] = LocalBytes(*value.shape, forms[i]) /
                         (IsKept(value.group) ? task_.stages : 1);
      // Partial values have no shared forms.
      if (pool_[forms[i]].IsPending()) copy.costs[count + i] = kInfiniteCost;
    }
    AddUsage(value.copies_alive, bytes, copy);
    problem_.nodes.push_back(std::move(copy));
    CostTable table;
    table.rows = static_cast<int32_t>(made.size());
    table.columns = static_cast<int32_t>(2 * count);
    const std::vector<int32_t> numbers = reshards_.NumbersOf(forms);
    for (const ShardingId one : made) {
      for (const ShardingId other : forms) {
        table.cells.push_back(one == other ? 0 : kInfiniteCost);
      }
      for (const double each :
           reshards_.SecondsFrom(value, one, forms, numbers)) {
        table.cells.push_back(UnitsOf(each * model_.weights[value.group]));
      }
    }
    problem_.edges.push_back(
        {value.group, node, problem_.AddTable(std::move(table))});
    copy_of_[v] = node;
    forms.insert(forms.end(), forms.begin(), forms.begin() + count);
    copies_[node] = {v, std::move(forms)};
  }
}

void MeshProblem::AddUses() {
  for (const GroupUse& use : model_.uses) {
    const GroupValue& value = model_.values[use.value];
    if (!value.shape->IsArray() || model_.rule(value.group).cheap_to_repeat) {
      continue;
    }
    const std::vector<ShardingId> wanted = Operands(use.user, use.operand);
    const int32_t copy = copy_of_[use.value];
    if (copy >= 0) {
      problem_.edges.push_back(
          {copy, use.user,
           reshards_.TableOf(value, copies_[copy].forms, wanted, use.weight)});
      continue;
    }
    const std::vector<ShardingId> made = Results(use.value);
    if (value.group != use.user) {
      problem_.edges.push_back(
          {value.group, use.user,
           reshards_.TableOf(value, made, wanted, use.weight)});
      continue;
    }
    // Edges between equivalent ops (consecutive layers) become a cost of their
    // common choice.
    for (size_t i = 0; i < made.size(); ++i) {
      int64_t& cost = problem_.nodes[use.user].costs[i];
      cost = AddCosts(
          cost,
          UnitsOf(reshards_.Seconds(value, made[i], wanted[i]) * use.weight));
    }
  }
}

// Values that loops only read are resharded in every iteration, unless they are
// carried in the resharded form: that of the carry.
std::vector<Sharing> MeshProblem::SharingOf(
    absl::Span<const int32_t> chosen) const {
  const FlatGraph& graph = model_.graph;
  std::vector<Sharing> sharing(graph.values.size(), Sharing::kOnce);
  std::vector<bool> moved(model_.values.size(), false);
  for (const GroupUse& use : model_.uses) {
    moved[use.value] =
        moved[use.value] ||
        ResultOf(use.value, chosen) !=
            options_[use.user][chosen[use.user]].operands[use.operand];
  }
  for (GroupValueId v; v < std::ssize(model_.values); ++v) {
    if (!moved[v]) continue;
    const GroupValue& value = model_.values[v];
    const int32_t copy = copy_of_[v];
    const bool apart =
        copy < 0 ||
        chosen[copy] < static_cast<int32_t>(copies_.at(copy).forms.size() / 2);
    for (const OpId op : model_.groups.members[value.group]) {
      const FlatOp& made = graph.ops[op];
      const ValueId id = made.first_result + value.result;
      const bool only_read =
          made.kind == OpKind::kCarry && made.operands[1] == id;
      if (apart && (copy >= 0 || only_read)) {
        sharing[id] = Sharing::kApart;
      } else if (only_read) {
        sharing[id] = Sharing::kInPlace;
      }
    }
  }
  return sharing;
}

StepTime MeshProblem::TimeOf(absl::Span<const int32_t> chosen) const {
  ChosenSplit split{.sharing = SharingOf(chosen)};
  const auto forms = [&](const std::vector<ShardingId>& ids) {
    std::vector<const Sharding*> all;
    for (const ShardingId id : ids) all.push_back(&pool_[id]);
    return all;
  };
  for (GroupId g{0}; g < model_.groups.count(); ++g) {
    const Option& option = options_[g][chosen[g]];
    split.work.push_back(WorkOf(g, option));
    const Computation* body = BodyOf(g, option);
    split.host.push_back(
        body == nullptr
            ? HostSeconds()
            : HostSecondsOf(*body, model_.traffic.bodies, *task_.rates));
    split.operands.push_back(forms(option.operands));
    split.results.push_back(forms(option.results));
  }
  return TimeStep(model_, split, *task_.rates, task_.prices, resharder_);
}

Assignment MeshProblem::ToAssignment(absl::Span<const int32_t> chosen) const {
  Assignment assignment;
  assignment.rules = model_.rules;
  assignment.strategies.resize(model_.rules.size());
  for (GroupId g{0}; g < model_.groups.count(); ++g) {
    for (const OpId op : model_.groups.members[g]) {
      assignment.strategies[op] = options_[g][chosen[g]].strategy;
    }
  }
  assignment.sharing = SharingOf(chosen);
  return assignment;
}

}  // namespace meshwright
