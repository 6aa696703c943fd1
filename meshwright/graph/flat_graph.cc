#include "meshwright/graph/flat_graph.h"

#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "meshwright/hlo/instruction_key.h"
#include "meshwright/hlo/trip_count.h"
#include "meshwright/rules/rule_table.h"

namespace meshwright {
namespace {

using Values = std::vector<ValueId>;  // The leaves of one instruction.

// A loop of unknown length counts as this many iterations.
constexpr double kUnknownTrips = 10;

// The barriers (x, tie) of which only x is used.
absl::flat_hash_set<const Instruction*> TiesOf(const Computation& computation) {
  absl::flat_hash_set<const Instruction*> ties;
  for (const auto& instruction : computation.instructions()) {
    const Shape& shape = instruction->shape;
    if (instruction->opcode == Opcode::kOptBarrier &&
        shape.tuple_shapes.size() == 2 && shape.tuple_shapes[0].IsArray() &&
        shape.tuple_shapes[1].IsArray() &&
        instruction.get() != computation.root()) {
      ties.insert(instruction.get());
    }
  }
  if (ties.empty()) return ties;
  for (const auto& instruction : computation.instructions()) {
    for (const Instruction* operand : instruction->operands) {
      if (instruction->opcode != Opcode::kGetTupleElement ||
          instruction->attributes->tuple_index != 0) {
        ties.erase(operand);
      }
    }
  }
  return ties;
}

class Flattener {
 public:
  explicit Flattener(const Module& module) : module_(module) {}

  FlatGraph Run() {
    const Computation& entry = *module_.entry();
    const RegionId region = AddRegion(entry);
    std::vector<Values> arguments;
    for (const Instruction* parameter : entry.Parameters()) {
      arguments.push_back(AddLeafOps(OpKind::kParameter, *parameter, region,
                                     &graph_.parameters));
    }
    const Values results = Walk(entry, arguments, region, 1);
    for (size_t i = 0; i < results.size(); ++i) {
      FlatOp output{.kind = OpKind::kOutput,
                    .instruction = entry.root(),
                    .leaf = static_cast<int32_t>(i),
                    .operands = {results[i]},
                    .region = region};
      graph_.outputs.push_back(AddOp(std::move(output), {}));
    }
    return std::move(graph_);
  }

 private:
  RegionId AddRegion(const Computation& computation) {
    graph_.regions.push_back({.computation = &computation});
    return static_cast<RegionId>(graph_.regions.size()) - 1;
  }

  // Adds the op with one value per shape.
  OpId AddOp(FlatOp op, const std::vector<const Shape*>& shapes) {
    const OpId id = static_cast<OpId>(graph_.ops.size());
    op.first_result = static_cast<ValueId>(graph_.values.size());
    op.result_count = static_cast<int32_t>(shapes.size());
    for (int32_t i = 0; i < op.result_count; ++i) {
      graph_.values.push_back({id, i, shapes[i]});
    }
    graph_.ops.push_back(std::move(op));
    return id;
  }

  void AddItem(RegionId region, Region::Item::Kind kind, size_t index) {
    graph_.regions[region].items.push_back({kind, static_cast<int32_t>(index)});
  }

  // One op per leaf of `instruction`, without operands yet.
  Values AddLeafOps(OpKind kind, const Instruction& instruction,
                    RegionId region, std::vector<OpId>* ids) {
    Values values;
    int32_t leaf = 0;
    for (const Shape* shape : Leaves(instruction.shape)) {
      FlatOp op{.kind = kind,
                .instruction = &instruction,
                .leaf = leaf++,
                .region = region};
      const OpId id = AddOp(std::move(op), {shape});
      ids->push_back(id);
      values.push_back(graph_.ops[id].first_result);
    }
    return values;
  }

  static Values OperandLeaves(const Instruction& instruction,
                              const std::vector<Values>& values) {
    Values leaves;
    for (const Instruction* operand : instruction.operands) {
      const Values& of = values[operand->id];
      leaves.insert(leaves.end(), of.begin(), of.end());
    }
    return leaves;
  }

  // The root's leaves, given the parameters' leaves.
  Values Walk(const Computation& computation,
              const std::vector<Values>& arguments, RegionId region,
              double repeats) {
    std::vector<Values> values(computation.size());
    const absl::flat_hash_set<const Instruction*> ties = TiesOf(computation);
    for (const auto& instruction : computation.instructions()) {
      values[instruction->id] =
          ties.contains(instruction.get())
              ? WalkTie(*instruction, values, region, repeats)
              : WalkInstruction(*instruction, values, arguments, region,
                                repeats);
      if (!instruction->shape.IsArray()) continue;
      const ValueId value = values[instruction->id][0];
      const FlatOp& op = graph_.producer(value);
      if (op.kind != OpKind::kCompute || op.instruction != instruction.get()) {
        graph_.other_names.push_back({instruction.get(), value});
      }
    }
    return values[computation.root()->id];
  }

  Values WalkInstruction(const Instruction& instruction,
                         const std::vector<Values>& values,
                         const std::vector<Values>& arguments, RegionId region,
                         double repeats) {
    switch (StructureOf(instruction)) {
      case Structure::kParameter:
        return arguments[instruction.attributes->parameter_number];
      case Structure::kTuple:
        return OperandLeaves(instruction, values);
      case Structure::kGetTupleElement:
        return Element(instruction, values);
      case Structure::kCall: {
        std::vector<Values> inner;
        for (const Instruction* operand : instruction.operands) {
          inner.push_back(values[operand->id]);
        }
        return Walk(*instruction.called[0], inner, region, repeats);
      }
      case Structure::kWhile:
        return WalkWhile(instruction, values, region, repeats);
      case Structure::kConditional:
        return WalkConditional(instruction, values, region, repeats);
      case Structure::kNone:
        break;
    }
    const OpId id = Compute(instruction, OperandLeaves(instruction, values),
                            region, repeats);
    Values results;
    for (int32_t i = 0; i < graph_.ops[id].result_count; ++i) {
      results.push_back(graph_.ops[id].first_result + i);
    }
    return results;
  }

  Values WalkTie(const Instruction& instruction,
                 const std::vector<Values>& values, RegionId region,
                 double repeats) {
    const Values leaves = OperandLeaves(instruction, values);
    FlatOp op{.kind = OpKind::kCompute,
              .instruction = &instruction,
              .operands = {leaves[0]},
              .region = region,
              .repeats = repeats,
              .after = leaves[1]};
    const OpId id = AddOp(std::move(op), {&instruction.shape.tuple_shapes[0]});
    AddItem(region, Region::Item::Kind::kOp, id);
    // Nobody reads the tie of it.
    return {graph_.ops[id].first_result, leaves[1]};
  }

  // The op that applies `instruction` to these operands; an earlier one of the
  // region if there is one that does the same.
  OpId Compute(const Instruction& instruction, Values operands, RegionId region,
               double repeats) {
    const OpId next = static_cast<OpId>(graph_.ops.size());
    if (!EntryFor(instruction.opcode).stays_apart &&
        !instruction.attributes->custom_call_has_side_effect) {
      std::string key = keys_.Of(instruction);
      absl::StrAppend(&key, "@", int32_t{region}, "(",
                      absl::StrJoin(operands, ","));
      const auto [known, is_new] = computed_.try_emplace(std::move(key), next);
      if (!is_new) return known->second;
    }
    FlatOp op{.kind = OpKind::kCompute,
              .instruction = &instruction,
              .operands = std::move(operands),
              .region = region,
              .repeats = repeats};
    AddOp(std::move(op), Leaves(instruction.shape));
    AddItem(region, Region::Item::Kind::kOp, next);
    return next;
  }

  static Values Element(const Instruction& instruction,
                        const std::vector<Values>& values) {
    const Instruction& tuple = *instruction.operands[0];
    const int32_t begin =
        LeavesBefore(tuple.shape, instruction.attributes->tuple_index);
    const Values& all = values[tuple.id];
    return Values(all.begin() + begin,
                  all.begin() + begin + LeafCount(instruction.shape));
  }

  // A while calls its body and its condition, in the order of `called`.
  Values WalkWhile(const Instruction& instruction,
                   const std::vector<Values>& values, RegionId region,
                   double repeats) {
    const Values start = OperandLeaves(instruction, values);
    const std::optional<int64_t> trips = TripCount(instruction);
    const double inner =
        repeats *
        (trips.has_value() ? static_cast<double>(*trips) : kUnknownTrips);
    Loop loop{.instruction = &instruction};
    const Values carried =
        AddLeafOps(OpKind::kCarry, instruction, region, &loop.carries);
    const size_t index = graph_.loops.size();
    graph_.loops.emplace_back();  // Its place, before those inside it.
    loop.body = AddRegion(*instruction.called[0]);
    const Values next =
        Walk(*instruction.called[0], {carried}, loop.body, inner);
    loop.condition = AddRegion(*instruction.called[1]);
    loop.go_on =
        Walk(*instruction.called[1], {carried}, loop.condition, inner)[0];
    for (size_t i = 0; i < carried.size(); ++i) {
      FlatOp& carry = graph_.ops[loop.carries[i]];
      carry.operands = {start[i], next[i]};
      carry.repeats = inner;
      carry.entries = repeats;
    }
    loop.end = static_cast<OpId>(graph_.ops.size());
    graph_.loops[index] = std::move(loop);
    AddItem(region, Region::Item::Kind::kLoop, index);
    return carried;
  }

  Values WalkConditional(const Instruction& instruction,
                         const std::vector<Values>& values, RegionId region,
                         double repeats) {
    Branch branch{.instruction = &instruction,
                  .selector = values[instruction.operands[0]->id][0]};
    const size_t index = graph_.branches.size();
    graph_.branches.emplace_back();
    std::vector<Values> roots;
    for (size_t i = 0; i < instruction.called.size(); ++i) {
      const Instruction& argument = *instruction.operands[i + 1];
      std::vector<OpId>& enters = branch.enters.emplace_back();
      const RegionId inside = AddRegion(*instruction.called[i]);
      branch.regions.push_back(inside);
      const Values entered =
          AddLeafOps(OpKind::kEnter, argument, inside, &enters);
      for (size_t leaf = 0; leaf < enters.size(); ++leaf) {
        graph_.ops[enters[leaf]].operands = {values[argument.id][leaf]};
        graph_.ops[enters[leaf]].repeats = repeats;
      }
      roots.push_back(Walk(*instruction.called[i], {entered}, inside, repeats));
    }
    const Values merged =
        AddLeafOps(OpKind::kMerge, instruction, region, &branch.merges);
    for (size_t leaf = 0; leaf < branch.merges.size(); ++leaf) {
      FlatOp& merge = graph_.ops[branch.merges[leaf]];
      merge.repeats = repeats;
      for (const Values& root : roots) merge.operands.push_back(root[leaf]);
    }
    graph_.branches[index] = std::move(branch);
    AddItem(region, Region::Item::Kind::kBranch, index);
    return merged;
  }

  const Module& module_;
  FlatGraph graph_;
  InstructionKeys keys_;
  absl::flat_hash_map<std::string, OpId> computed_;
};

// Marks what the outputs depend on, and drops the rest from the regions.
class LivenessPass {
 public:
  explicit LivenessPass(FlatGraph& graph) : graph_(graph) {}

  void Run() {
    for (const Loop& loop : graph_.loops) {
      for (const OpId carry : loop.carries) needs_[carry] = loop.go_on;
    }
    for (const Branch& branch : graph_.branches) {
      for (const OpId merge : branch.merges) needs_[merge] = branch.selector;
    }
    for (const OpId output : graph_.outputs) Mark(output);
    for (const OpId parameter : graph_.parameters) Mark(parameter);
    while (!work_.empty()) {
      const OpId id = work_.back();
      work_.pop_back();
      for (const ValueId operand : graph_.ops[id].operands) {
        Mark(graph_.values[operand].producer);
      }
      if (const auto extra = needs_.find(id); extra != needs_.end()) {
        Mark(graph_.values[extra->second].producer);
      }
    }
    DropDeadItems();
  }

  void DropDeadItems() {
    for (Region& region : graph_.regions) {
      std::erase_if(region.items,
                    [&](const Region::Item& item) { return !IsLive(item); });
    }
  }

 private:
  void Mark(OpId id) {
    if (graph_.ops[id].live) return;
    graph_.ops[id].live = true;
    work_.push_back(id);
  }

  bool AnyLive(const std::vector<OpId>& ids) const {
    for (const OpId id : ids) {
      if (graph_.ops[id].live) return true;
    }
    return false;
  }

  bool IsLive(const Region::Item& item) const {
    switch (item.kind) {
      case Region::Item::Kind::kOp:
        return graph_.ops[item.index].live;
      case Region::Item::Kind::kLoop:
        return AnyLive(graph_.loops[item.index].carries);
      case Region::Item::Kind::kBranch:
        return AnyLive(graph_.branches[item.index].merges);
    }
    return true;
  }

  FlatGraph& graph_;
  absl::flat_hash_map<OpId, ValueId> needs_;
  std::vector<OpId> work_;
};

}  // namespace

FlatGraph Flatten(const Module& module) {
  FlatGraph graph = Flattener(module).Run();
  LivenessPass(graph).Run();
  return graph;
}

FlatGraph Restricted(const FlatGraph& graph, const std::vector<bool>& live) {
  FlatGraph part = graph;
  for (size_t i = 0; i < part.ops.size(); ++i) {
    part.ops[i].live = part.ops[i].live && live[i];
  }
  LivenessPass(part).DropDeadItems();
  return part;
}

std::vector<std::vector<OpId>> UsersOf(const FlatGraph& graph) {
  std::vector<std::vector<OpId>> users(graph.values.size());
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    if (!graph.ops[i].live) continue;
    for (const ValueId operand : graph.ops[i].operands) {
      users[operand].push_back(static_cast<OpId>(i));
    }
  }
  return users;
}

}  // namespace meshwright
