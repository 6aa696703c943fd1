#include "meshwright/search/step_time.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "meshwright/base/element_type.h"
#include "meshwright/cost/device_clock.h"
#include "meshwright/hlo/trip_count.h"
#include "meshwright/partition/partition.h"

namespace meshwright {
namespace {

// A value in another sharding than that in which it is produced, and the user
// if each reshards it separately.
struct Move {
  ValueId value;
  const Sharding* to = nullptr;
  OpId user;

  bool operator==(const Move&) const = default;
  template <typename H>
  friend H AbslHashValue(H h, const Move& move) {
    return H::combine(std::move(h), move.value, move.to, move.user);
  }
};

// All-reduces that are combined into one.
struct Bucket {
  std::vector<ValueId> values;
  double seconds = 0;
  double bytes = 0;
  bool is_done = false;
  double done_at = 0;
};

class StepClock {
 public:
  StepClock(const StepModel& model, const ChosenSplit& split,
            const Rates& rates, const Prices& prices, Resharder& resharder)
      : model_(model),
        graph_(model.graph),
        split_(split),
        rates_(rates),
        prices_(prices),
        resharder_(resharder),
        ready_(graph_.values.size(), 0),
        after_(graph_.values.size(), 0) {}

  StepTime Run() {
    Items items = graph_.regions[0].items;
    for (const OpId op : graph_.outputs) {
      items.push_back({Region::Item::Kind::kOp, op});
    }
    DeviceClock clock = Simulate(items, RegionId{0}, 1);
    time_.rest = {clock.device_seconds() - time_.loops.device_seconds,
                  clock.host_seconds().each - time_.loops.launch_seconds};
    clock.TakeArrays(graph_.parameters.size() + graph_.outputs.size());
    time_.seconds = clock.seconds();
    time_.comm_seconds = comm_;
    return time_;
  }

 private:
  using Items = std::vector<Region::Item>;

  GroupId GroupOf(OpId op) const { return model_.groups.group_of[op]; }
  const Sharding* FormOf(ValueId value) const {
    const FlatValue& of = graph_.values[value];
    return split_.results[GroupOf(of.producer)][of.result];
  }
  // nullopt if the operand is used as produced, or recomputed.
  std::optional<Move> MoveOf(OpId op, size_t operand) const {
    const ValueId value = graph_.ops[op].operands[operand];
    const Shape& shape = *graph_.values[value].shape;
    const Sharding* wanted = split_.operands[GroupOf(op)][operand];
    const OpId producer = graph_.values[value].producer;
    if (!shape.IsArray() || FormOf(value) == wanted ||
        model_.rules[producer].cheap_to_repeat) {
      return std::nullopt;
    }
    const bool apart =
        !split_.sharing.empty() && split_.sharing[value] == Sharing::kApart;
    return Move{value, wanted, apart ? op : OpId{-1}};
  }
  const std::vector<ReshardStep>& PathOf(const Move& move) {
    return resharder_.Path(graph_.values[move.value].shape->element_type,
                           *FormOf(move.value), *move.to);
  }

  // The state of the region being simulated; nested regions have their own.
  struct Scope {
    double runs = 1;  // Of the region in a step.
    DeviceClock clock;
    absl::flat_hash_map<Move, double> moved;
    absl::flat_hash_map<Move, int32_t> bucket_of;
    std::vector<Bucket> buckets;
  };

  // Ops of an item, in order: of a loop its carries.
  std::vector<OpId> OpsOf(const Region::Item& item) const {
    switch (item.kind) {
      case Region::Item::Kind::kOp:
        return {OpId{item.index}};
      case Region::Item::Kind::kLoop: {
        std::vector<OpId> live;
        for (const OpId op : graph_.loops[item.index].carries) {
          if (graph_.ops[op].live) live.push_back(op);
        }
        return live;
      }
      case Region::Item::Kind::kBranch: {
        std::vector<OpId> live;
        for (const auto& enters : graph_.branches[item.index].enters) {
          for (const OpId op : enters) {
            if (graph_.ops[op].live) live.push_back(op);
          }
        }
        return live;
      }
    }
    return {};
  }

  // How many all-reduces follow each: those with equal numbers, between the
  // same devices, are combined.
  void Combine(const Items& items, Scope& scope) {
    std::vector<std::pair<Move, int32_t>> found;  // Last first.
    absl::flat_hash_map<Move, size_t> index;
    for (auto item = items.rbegin(); item != items.rend(); ++item) {
      for (const OpId op : OpsOf(*item)) {
        const FlatOp& of = graph_.ops[op];
        int32_t behind = 0;
        for (int32_t i = 0; i < of.result_count; ++i) {
          behind = std::max(behind, after_[of.first_result + i]);
        }
        const size_t count = of.kind == OpKind::kCarry ? 1 : of.operands.size();
        for (size_t i = 0; i < count; ++i) {
          int32_t here = behind;
          const std::optional<Move> move = MoveOf(op, i);
          if (move.has_value() && AllReduceOf(*move) != nullptr) {
            const auto [at, is_new] = index.try_emplace(*move, found.size());
            if (is_new) found.push_back({*move, behind});
            int32_t& number = found[at->second].second;
            number = std::max(number, behind);
            here = number + 1;
          }
          int32_t& after = after_[of.operands[i]];
          after = std::max(after, here);
        }
      }
    }
    Fill(found, scope);
  }

  // Those that loops carry on to their next iteration.
  void CombineBack(const Loop& loop, Scope& scope) {
    std::vector<std::pair<Move, int32_t>> found;
    for (const OpId op : loop.carries) {
      if (!graph_.ops[op].live) continue;
      const std::optional<Move> move = MoveOf(op, 1);
      if (!move.has_value() || AllReduceOf(*move) == nullptr) continue;
      const std::pair<Move, int32_t> one(*move, 0);
      if (std::ranges::find(found, one) == found.end()) found.push_back(one);
    }
    std::ranges::reverse(found);
    Fill(found, scope);
  }

  // Fills buckets with all-reduces, given last first.
  void Fill(const std::vector<std::pair<Move, int32_t>>& found, Scope& scope) {
    using Key = std::tuple<int32_t, ElementType, uint32_t>;
    std::map<Key, int32_t> open;
    for (size_t i = found.size(); i-- > 0;) {
      const auto& [move, number] = found[i];
      const ReshardStep& step = *AllReduceOf(move);
      const uint32_t axes = step.axes.Bits();
      const ElementType type = graph_.values[move.value].shape->element_type;
      double bytes = static_cast<double>(BitWidth(type)) / 8;
      for (const int64_t size :
           LocalDimensions(step.after, resharder_.mesh())) {
        bytes *= static_cast<double>(size);
      }
      const double latency = prices_.Of(MoveKind::kAllReduce, axes).latency;
      const auto [at, is_new] = open.try_emplace({number, type, axes}, -1);
      if (is_new || scope.buckets[at->second].bytes + bytes >
                        static_cast<double>(kMaxCombinedBytes)) {
        at->second = static_cast<int32_t>(scope.buckets.size());
        scope.buckets.push_back({.seconds = latency});
      } else {
        scope.buckets[at->second].seconds +=
            rates_.further_array.value * latency;
      }
      Bucket& bucket = scope.buckets[at->second];
      bucket.values.push_back(move.value);
      bucket.bytes += bytes;
      bucket.seconds += step.price - latency;
      scope.bucket_of[move] = at->second;
    }
  }

  const ReshardStep* AllReduceOf(const Move& move) {
    for (const ReshardStep& step : PathOf(move)) {
      if (step.kind == MoveKind::kAllReduce) return &step;
    }
    return nullptr;
  }

  double Communicate(double seconds, double start, Scope& scope) {
    comm_ += scope.runs * seconds;
    return scope.clock.RunCollective(start, seconds);
  }

  // When an operand is available in the needed sharding.
  double ReadyAt(OpId op, size_t operand, Scope& scope) {
    const std::optional<Move> move = MoveOf(op, operand);
    if (!move.has_value()) return ready_[graph_.ops[op].operands[operand]];
    const auto [known, is_new] = scope.moved.try_emplace(*move, 0);
    if (!is_new) return known->second;
    double when = ready_[move->value];
    for (const ReshardStep& step : PathOf(*move)) {
      if (!IsCollective(step.kind)) continue;
      const auto combined = step.kind == MoveKind::kAllReduce
                                ? scope.bucket_of.find(*move)
                                : scope.bucket_of.end();
      if (combined == scope.bucket_of.end()) {
        when = Communicate(step.price, when, scope);
        continue;
      }
      Bucket& bucket = scope.buckets[combined->second];
      if (!bucket.is_done) {
        for (const ValueId value : bucket.values) {
          when = std::max(when, ready_[value]);
        }
        bucket.done_at = Communicate(bucket.seconds, when, scope);
        bucket.is_done = true;
      }
      when = std::max(when, bucket.done_at);
    }
    return scope.moved[*move] = when;
  }

  void SetReady(OpId op, double when) {
    const FlatOp& of = graph_.ops[op];
    for (int32_t i = 0; i < of.result_count; ++i) {
      ready_[of.first_result + i] = when;
    }
  }

  // Simulates one execution of a region that runs `runs` times per step.
  DeviceClock Simulate(const Items& items, RegionId region, double runs) {
    Scope scope{runs, DeviceClock(rates_)};
    Combine(items, scope);
    for (const Region::Item& item : items) {
      switch (item.kind) {
        case Region::Item::Kind::kOp:
          RunOp(OpId{item.index}, scope);
          break;
        case Region::Item::Kind::kLoop:
          RunLoop(graph_.loops[item.index], region, scope);
          break;
        case Region::Item::Kind::kBranch:
          RunBranch(graph_.branches[item.index], scope);
          break;
      }
    }
    return scope.clock;
  }

  DeviceClock Simulate(RegionId region, double runs) {
    return Simulate(graph_.regions[region].items, region, runs);
  }

  void RunOp(OpId op, Scope& scope) {
    const FlatOp& of = graph_.ops[op];
    double when = of.after >= 0 ? ready_[of.after] : 0;
    for (size_t i = 0; i < of.operands.size(); ++i) {
      when = std::max(when, ReadyAt(op, i, scope));
    }
    const double work = split_.work[GroupOf(op)];
    if (work > 0 && of.kind == OpKind::kCompute) {
      const OpTraffic& traffic = model_.traffic.ops[op];
      if (const HostSeconds& host = split_.host[GroupOf(op)]; host.sum() > 0) {
        when = scope.clock.RunRegion(when, work, host);
      } else if (traffic.is_start) {
        when = scope.clock.RunKernel(*of.instruction, when, work);
      } else if (traffic.is_root) {
        when = scope.clock.Continue(when, work);
      } else {
        // The kernel that it is part of waits for its operands.
        when = std::max(when, scope.clock.Continue(0, work));
      }
    }
    SetReady(op, when);
  }

  void RunLoop(const Loop& loop, RegionId around, Scope& scope) {
    double start = 0;
    for (const OpId op : loop.carries) {
      if (!graph_.ops[op].live) continue;
      start = std::max(start, ReadyAt(op, 0, scope));
    }
    for (const OpId op : loop.carries) SetReady(op, 0);
    const double count =
        static_cast<double>(TripCount(*loop.instruction).value_or(1));
    const double runs = scope.runs * count;
    DeviceClock body = Simulate(loop.body, runs);
    // The next value of a carry in another sharding than the loop carries.
    Scope back{runs, DeviceClock(rates_)};
    CombineBack(loop, back);
    for (const OpId op : loop.carries) {
      if (graph_.ops[op].live) ReadyAt(op, 1, back);
    }
    double seconds = IterationSeconds(rates_) + body.device_seconds() +
                     back.clock.device_seconds();
    HostSeconds host = body.host_seconds();
    host += back.clock.host_seconds();
    if (RunsCondition(*loop.instruction, rates_)) {
      const DeviceClock condition = Simulate(loop.condition, runs);
      seconds += condition.device_seconds();
      host += condition.host_seconds();
    }
    seconds *= count;
    const double end = scope.clock.RunRegion(start, seconds, host.Times(count));
    if (around == 0) {
      time_.loops.device_seconds += seconds;
      time_.loops.launch_seconds += count * host.each;
      time_.loop_seconds += std::max(seconds, host.Times(count).sum());
    }
    for (const OpId op : loop.carries) SetReady(op, end);
  }

  void RunBranch(const Branch& branch, Scope& scope) {
    double start = ready_[branch.selector];
    double longest = 0;
    HostSeconds host;
    for (size_t i = 0; i < branch.regions.size(); ++i) {
      for (const OpId op : branch.enters[i]) {
        if (!graph_.ops[op].live) continue;
        start = std::max(start, ReadyAt(op, 0, scope));
        SetReady(op, 0);
      }
      const DeviceClock inside = Simulate(branch.regions[i], scope.runs);
      if (inside.device_seconds() < longest) continue;
      longest = inside.device_seconds();
      host = inside.host_seconds();
    }
    const double end = scope.clock.RunRegion(start, longest, host);
    for (const OpId op : branch.merges) SetReady(op, end);
  }

  const StepModel& model_;
  const FlatGraph& graph_;
  const ChosenSplit& split_;
  const Rates& rates_;
  const Prices& prices_;
  Resharder& resharder_;
  std::vector<double> ready_;   // By value: when it is made, in its region.
  std::vector<int32_t> after_;  // By value: all-reduces that follow.
  double comm_ = 0;
  StepTime time_;  // So far: of loops.
};

}  // namespace

StepTime TimeStep(const StepModel& model, const ChosenSplit& split,
                  const Rates& rates, const Prices& prices,
                  Resharder& resharder) {
  return StepClock(model, split, rates, prices, resharder).Run();
}

}  // namespace meshwright
