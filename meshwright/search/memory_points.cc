#include "meshwright/search/memory_points.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "meshwright/cost/workspaces.h"
#include "meshwright/search/problem_policy.h"

namespace meshwright {
namespace {

struct Interval {
  ValueId value;
  OpId first;  // Alive from this op
  OpId last;   // to this one.
};

class Liveness {
 public:
  explicit Liveness(StepModel& model) : model_(model), graph_(model.graph) {}

  int32_t Run() {
    FindLastReads();
    FindIntervals();
    const std::vector<OpId> points = ChoosePoints();
    for (GroupValue& value : model_.values) {
      value.alive.assign(points.size(), 0);
      value.copies_alive.assign(points.size(), 0);
    }
    const auto count = [&](const Interval& interval,
                           std::vector<float>& alive) {
      const auto begin =
          std::lower_bound(points.begin(), points.end(), interval.first);
      const auto end =
          std::upper_bound(points.begin(), points.end(), interval.last);
      for (auto point = begin; point < end; ++point) {
        alive[point - points.begin()] += 1;
      }
    };
    for (const Interval& one : intervals_) {
      count(one, model_.values[GroupValueOf(one.value)].alive);
    }
    for (const Interval& one : Copies()) {
      count(one, model_.values[GroupValueOf(one.value)].copies_alive);
    }
    for (const auto& [carried, one] : held_) {
      count(one, HeldBy(one.value, carried, points.size()).alive);
    }
    model_.working.resize(model_.groups.count());
    for (size_t i = 0; i < points.size(); ++i) {
      if (!model_.traffic.ops[points[i]].has_workspace) continue;
      auto& working = model_.working[model_.groups.group_of[points[i]]];
      working.resize(points.size(), 0);
      working[i] += 1;
    }
    return static_cast<int32_t>(points.size());
  }

 private:
  GroupValueId GroupValueOf(ValueId id) const {
    const FlatValue& value = graph_.values[id];
    return model_
        .group_values[model_.groups.group_of[value.producer]][value.result];
  }

  bool IsStored(ValueId id) const {
    return model_.groups.group_of[graph_.values[id].producer] >= 0 &&
           model_.values[GroupValueOf(id)].is_stored;
  }

  HeldValue& HeldBy(ValueId value, ValueId carried, size_t points) {
    const GroupValueId of = GroupValueOf(value);
    const GroupValueId by = GroupValueOf(carried);
    for (HeldValue& known : model_.held) {
      if (known.value == of && known.carried == by) return known;
    }
    model_.held.push_back({of, by, std::vector<float>(points, 0)});
    return model_.held.back();
  }

  // A value from outside of a loop that is read inside is needed until the
  // loop's end.
  void FindLastReads() {
    loop_end_.assign(graph_.ops.size(), OpId{-1});
    for (const Loop& loop : graph_.loops) {  // Outer ones first.
      OpId first = loop.end;
      for (const OpId carry : loop.carries) first = std::min(first, carry);
      for (OpId op = first; op < loop.end; ++op) {
        if (loop_end_[op] < 0) loop_end_[op] = loop.end;
      }
    }
    last_read_ = model_.traffic.last_read;
    for (size_t v = 0; v < graph_.values.size(); ++v) {
      if (last_read_[v] >= 0) {
        last_read_[v] = Outlasting(graph_.values[v].producer, last_read_[v]);
      }
    }
    // Loop-carried values are alive until the end of the loop.
    for (const Loop& loop : graph_.loops) {
      for (const OpId carry : loop.carries) {
        if (!graph_.ops[carry].live) continue;
        OpId& last = last_read_[graph_.ops[carry].first_result];
        last = std::max(last, loop.end - 1);
      }
    }
  }

  OpId Outlasting(OpId producer, OpId read) const {
    const OpId end = loop_end_[read];
    return end >= 0 && loop_end_[producer] != end ? std::max(read, end - 1)
                                                  : read;
  }

  // For loops that read but do not change a carried value: the copy takes the
  // place of the original while they run.
  std::vector<std::vector<std::pair<OpId, OpId>>> HeldByLoops() const {
    std::vector<std::vector<std::pair<OpId, OpId>>> held(graph_.values.size());
    for (const Loop& loop : graph_.loops) {
      for (const OpId id : loop.carries) {
        const FlatOp& carry = graph_.ops[id];
        if (!carry.live || carry.operands[1] != carry.first_result) continue;
        held[carry.operands[0]].emplace_back(id, loop.end);
      }
    }
    return held;
  }

  void FindIntervals() {
    const OpId end = static_cast<OpId>(graph_.ops.size()) - 1;
    std::vector<bool> takes_over(graph_.values.size(), false);
    for (const StatePair& pair : model_.roles.state_pairs) {
      const FlatOp& output = graph_.ops[graph_.outputs[pair.output]];
      if (output.live) takes_over[output.operands[0]] = true;
    }
    const auto held = HeldByLoops();
    for (size_t i = 0; i < graph_.ops.size(); ++i) {
      const FlatOp& op = graph_.ops[i];
      if (!op.live) continue;
      for (int32_t r = 0; r < op.result_count; ++r) {
        const ValueId value = op.first_result + r;
        if (!IsStored(value) || takes_over[value]) continue;
        OpId first{op.kind == OpKind::kParameter ? 0 : i};
        // A result that nothing reads, as a workspace, is there while its
        // kernel runs.
        const OpId last = op.kind == OpKind::kParameter
                              ? end
                              : std::max(last_read_[value], first);
        for (const auto& [from, to] : held[value]) {
          if (first < from) intervals_.push_back({value, first, from - 1});
          const ValueId carried = graph_.ops[from].first_result;
          if (last >= to && graph_.values[value].shape->IsArray() &&
              GroupValueOf(value) != GroupValueOf(carried)) {
            held_.push_back({carried, {value, std::max(first, from), to - 1}});
          }
          first = std::max(first, to);
        }
        // The next value of a carry reuses the memory of the previous one.
        if (first <= last) intervals_.push_back({value, first, last});
      }
    }
  }

  // From the first op that uses a value to the last.
  std::vector<Interval> Copies() const {
    std::vector<Interval> copies(graph_.values.size(),
                                 {ValueId{0}, OpId{-1}, OpId{-1}});
    for (size_t i = 0; i < graph_.ops.size(); ++i) {
      const FlatOp& op = graph_.ops[i];
      if (!op.live) continue;
      for (const ValueId operand : op.operands) {
        Interval& copy = copies[operand];
        const OpId user = static_cast<OpId>(i);
        if (copy.first < 0) copy = {operand, user, user};
        copy.last = std::max(copy.last,
                             Outlasting(graph_.values[operand].producer, user));
      }
    }
    std::erase_if(copies, [](const Interval& one) { return one.first < 0; });
    return copies;
  }

  std::vector<OpId> ChoosePoints() const {
    std::vector<double> change(graph_.ops.size() + 1, 0);
    for (const Interval& interval : intervals_) {
      const double bytes =
          static_cast<double>(ByteSize(*graph_.values[interval.value].shape));
      if (interval.last < interval.first) continue;
      change[interval.first] += bytes;
      change[interval.last + 1] -= bytes;
    }
    for (size_t i = 0; i < graph_.ops.size(); ++i) {
      if (!model_.traffic.ops[i].has_workspace) continue;
      const Instruction& instruction = *graph_.ops[i].instruction;
      const auto bytes = static_cast<double>(
          WorkspaceBytes(instruction, SizesOf(instruction)));
      change[i] += bytes;
      change[i + 1] -= bytes;
    }
    const size_t count =
        std::min(kProblemPolicy.memory_points, graph_.ops.size());
    std::vector<OpId> points;
    double alive = 0;
    double most = -1;
    OpId best;
    size_t bucket = 0;
    for (size_t i = 0; i < graph_.ops.size(); ++i) {
      alive += change[i];
      if (alive > most) {
        most = alive;
        best = static_cast<OpId>(i);
      }
      if ((i + 1) * count / graph_.ops.size() > bucket) {
        points.push_back(best);
        most = -1;
        bucket = (i + 1) * count / graph_.ops.size();
      }
    }
    return points;
  }

  StepModel& model_;
  const FlatGraph& graph_;
  // By op: the end of the outermost loop around it.
  std::vector<OpId> loop_end_;
  std::vector<OpId> last_read_;  // By value.
  std::vector<Interval> intervals_;
  // Carried copies, and the interval of the loop.
  std::vector<std::pair<ValueId, Interval>> held_;
};

}  // namespace

int32_t AddMemoryPoints(StepModel& model) { return Liveness(model).Run(); }

MemoryNeed LeastMemory(const StepModel& model) {
  MemoryNeed need;
  for (int32_t point = 0; point < model.points; ++point) {
    double state = 0;
    double rest = 0;
    for (const GroupValue& value : model.values) {
      const double bytes = static_cast<double>(value.alive[point]) *
                           static_cast<double>(ByteSize(*value.shape));
      const bool kept = model.op(value.group).kind == OpKind::kParameter;
      (kept ? state : rest) += bytes;
    }
    need.state = std::max(need.state, state);
    need.rest = std::max(need.rest, rest);
  }
  return need;
}

int64_t BatchSize(const StepModel& model) {
  int64_t batch = 1;
  int64_t most = 0;
  for (GroupId group{0}; group < model.groups.count(); ++group) {
    const std::optional<int64_t> dimension = model.batch_dims[group];
    if (!dimension.has_value()) continue;
    const Shape& shape = *model.values[model.group_values[group][0]].shape;
    if (ByteSize(shape) > most) {
      most = ByteSize(shape);
      batch = shape.dimensions[*dimension];
    }
  }
  return batch;
}

}  // namespace meshwright
