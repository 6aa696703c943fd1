#include "meshwright/search/memory_points.h"

#include <algorithm>
#include <vector>

namespace meshwright {
namespace {

constexpr size_t kPoints = 48;

struct Interval {
  ValueId value = 0;
  OpId first = 0;  // Alive from this op on
  OpId last = 0;   // to this one.
};

class Liveness {
 public:
  explicit Liveness(StepModel& model) : model_(model), graph_(model.graph) {}

  int32_t Run() {
    FindIntervals();
    const std::vector<OpId> points = ChoosePoints();
    for (GroupValue& value : model_.values)
      value.alive.assign(points.size(), 0);
    for (const Interval& interval : intervals_) {
      const FlatValue& value = graph_.values[interval.value];
      GroupValue& group =
          model_
              .values[model_.group_values[model_.alike.group_of[value.producer]]
                                         [value.result]];
      const auto begin =
          std::lower_bound(points.begin(), points.end(), interval.first);
      const auto end =
          std::upper_bound(points.begin(), points.end(), interval.last);
      for (auto point = begin; point < end; ++point) {
        group.alive[point - points.begin()] += 1;
      }
    }
    return static_cast<int32_t>(points.size());
  }

 private:
  bool IsStored(ValueId id) const {
    const FlatValue& value = graph_.values[id];
    const int32_t group = model_.alike.group_of[value.producer];
    return group >= 0 &&
           model_.values[model_.group_values[group][value.result]].is_stored;
  }

  // A use inside a loop of what comes from outside lasts to the loop's end.
  std::vector<OpId> LastUses() const {
    std::vector<OpId> loop_end(graph_.ops.size(), -1);
    for (const Loop& loop : graph_.loops) {  // Outer ones first.
      OpId first = loop.end;
      for (const OpId carry : loop.carries) first = std::min(first, carry);
      for (OpId op = first; op < loop.end; ++op) {
        if (loop_end[op] < 0) loop_end[op] = loop.end;
      }
    }
    std::vector<OpId> last(graph_.values.size(), -1);
    for (size_t i = 0; i < graph_.ops.size(); ++i) {
      const FlatOp& op = graph_.ops[i];
      if (!op.live) continue;
      for (const ValueId operand : op.operands) {
        const OpId producer = graph_.values[operand].producer;
        OpId until = static_cast<OpId>(i);
        // The end of the outermost loop that holds the use, not the value.
        if (loop_end[i] >= 0 && loop_end[producer] != loop_end[i]) {
          until = std::max(until, static_cast<OpId>(loop_end[i] - 1));
        }
        last[operand] = std::max(last[operand], until);
      }
    }
    return last;
  }

  void FindIntervals() {
    const OpId end = static_cast<OpId>(graph_.ops.size()) - 1;
    const std::vector<OpId> last = LastUses();
    std::vector<bool> takes_over(graph_.values.size(), false);
    for (const StatePair& pair : model_.roles.state_pairs) {
      const FlatOp& output = graph_.ops[graph_.outputs[pair.output]];
      if (output.live) takes_over[output.operands[0]] = true;
    }
    for (size_t i = 0; i < graph_.ops.size(); ++i) {
      const FlatOp& op = graph_.ops[i];
      if (!op.live) continue;
      for (int32_t r = 0; r < op.result_count; ++r) {
        const ValueId value = op.first_result + r;
        if (!IsStored(value)) continue;
        if (op.kind == OpKind::kParameter) {
          intervals_.push_back({value, 0, end});
        } else if (!takes_over[value]) {
          intervals_.push_back(
              {value, static_cast<OpId>(i), std::max<OpId>(last[value], 0)});
        }
      }
    }
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
    const size_t count = std::min(kPoints, graph_.ops.size());
    std::vector<OpId> points;
    double alive = 0;
    double most = -1;
    OpId best = 0;
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
  std::vector<Interval> intervals_;
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
  for (int32_t group = 0; group < model.alike.count(); ++group) {
    if (model.kinds[group] != StateKind::kData) continue;
    const Shape& shape = *model.values[model.group_values[group][0]].shape;
    if (shape.rank() > 0 && ByteSize(shape) > most) {
      most = ByteSize(shape);
      batch = shape.dimensions[0];
    }
  }
  return batch;
}

}  // namespace meshwright
