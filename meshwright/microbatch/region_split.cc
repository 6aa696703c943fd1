#include "meshwright/microbatch/region_split.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "meshwright/microbatch/region_devices.h"
#include "meshwright/microbatch/region_values.h"
#include "meshwright/microbatch/time_phases.h"
#include "meshwright/microbatch/uniform_values.h"
#include "meshwright/rules/island.h"
#include "meshwright/rules/open_island.h"

namespace meshwright {
namespace {

// One pass over a split: what is wrong with it, or to be done otherwise.
class RegionCheck {
 public:
  RegionCheck(const FlatGraph& graph, const OpenedIslands& open,
              const TimeSplit& split, RegionNeeds& needs)
      : graph_(graph),
        open_(open),
        split_(split),
        needs_(needs),
        on_devices_(graph.values.size()),
        numbers_(graph.values.size()) {
    for (const FlatOp& op : graph.ops) {
      const auto found = open.region_of.find(op.instruction);
      // An output is what the entry's root says, which may be of a region.
      const bool is_inside = found != open.region_of.end() &&
                             op.kind != OpKind::kOutput &&
                             op.kind != OpKind::kParameter;
      region_.push_back(is_inside ? found->second : kOutside);
    }
    for (const Loop& loop : graph.loops) {
      for (const OpId carry : loop.carries) control_[carry] = loop.go_on;
    }
    for (const Branch& branch : graph.branches) {
      for (const OpId merge : branch.merges) control_[merge] = branch.selector;
    }
  }

  // True if needs were added: split anew.
  absl::StatusOr<bool> Run() {
    // Once more when nothing changes.
    for (bool changes = true; error_.empty() && !found_needs_;) {
      if (!changes && std::exchange(is_settled_, true)) break;
      changes = false;
      for (OpId id{0}; id < std::ssize(graph_.ops); ++id) {
        if (!graph_.ops[id].live) continue;
        changes =
            (region_[id] == kOutside ? WorkOutside(id) : Work(id)) || changes;
        if (!error_.empty() || found_needs_) break;
      }
    }
    if (found_needs_) return true;
    if (!error_.empty()) return absl::InvalidArgumentError(error_);
    return false;
  }

  std::vector<bool> InRegion() const {
    std::vector<bool> inside;
    for (const int32_t region : region_) inside.push_back(region != kOutside);
    return inside;
  }

 private:
  const Mesh& mesh(OpId id) const { return open_.regions[region_[id]].mesh; }
  const Strategy& strategy(OpId id) const {
    return split_.assignment.strategies[id];
  }
  const Rule& rule(OpId id) const { return split_.assignment.rules[id]; }
  ValueId Operand(OpId id, size_t index) const {
    return graph_.ops[id].operands[index];
  }
  bool IsRows(ValueId value) const {
    return !SplitAxes(split_.states[value]).empty();
  }
  bool IsPartial(ValueId value) const {
    return split_.states[value].IsPending();
  }
  bool IsCompute(OpId id) const {
    return graph_.ops[id].kind == OpKind::kCompute && graph_.ops[id].after < 0;
  }
  bool Enters(OpId id) const {
    return IsCompute(id) && EntersOpenIsland(*graph_.ops[id].instruction);
  }

  void Refuse(OpId id, absl::string_view why, int32_t region = kOutside) {
    if (!is_settled_) return;  // More may be known of what loops give.
    if (region == kOutside) region = region_[id];
    error_ = absl::StrCat(open_.regions[region].name,
                          " is written for the whole batch: ",
                          DescribeOp(graph_.ops[id]), " ", why);
  }

  std::string Names(uint32_t bits, OpId id) const {
    return AxisNames(bits, mesh(id));
  }

  // Whether anything is known now that was not.
  bool Set(ValueId value, OnDevices now) {
    now.is_known = true;
    if (on_devices_[value] == now) return false;
    on_devices_[value] = std::move(now);
    return true;
  }

  bool Work(OpId id) {
    const FlatOp& op = graph_.ops[id];
    for (size_t i = 0; i < op.operands.size(); ++i) {
      if (split_.Completes(graph_, id, i) && !CompleteOutside(id, i)) {
        return false;
      }
    }
    if (Enters(id)) return Enter(id);
    if (IsCompute(id)) {
      if (LeavesOpenIsland(*op.instruction)) {
        return Leave(id);
      }
      if (IsDeviceOfOpenIsland(*op.instruction)) return TellDevice(id);
    }
    OnDevices result;
    for (const ValueId operand : op.operands) {
      const OnDevices& given = on_devices_[operand];
      result.varies |= given.varies;
      if (!IsPartial(operand)) continue;
      result.unreduced |= given.unreduced;
    }
    if (const auto control = control_.find(id); control != control_.end()) {
      result.varies |= on_devices_[control->second].varies;
    }
    FindRows(id, result);
    if (!error_.empty() || found_needs_) return false;
    if (IsCompute(id) && IsCollectiveOfIslands(op.instruction->opcode)) {
      Communicate(id, result);
    } else {
      FindNumbers(id, result);
    }
    if (!error_.empty()) return false;
    return SetResults(id, result);
  }

  bool SetResults(OpId id, const OnDevices& given) {
    const FlatOp& op = graph_.ops[id];
    bool changes = false;
    for (int32_t i = 0; i < op.result_count; ++i) {
      const ValueId value = op.first_result + i;
      OnDevices result = given;
      if (IsPartial(value) && Touches(id)) {
        result.unreduced |= given.rows.Bits();
      }
      if (!IsPartial(value)) result.unreduced = 0;
      if (!IsRows(value)) result.rows.clear();
      changes = Set(value, std::move(result)) || changes;
    }
    return changes;
  }

  // What an operation needs whole comes whole into its region, if that is where
  // it is made. False where it is made inside.
  bool CompleteOutside(OpId id, size_t index) {
    if (Enters(id)) {
      if (IsPartial(Operand(id, index))) return true;
      if (on_devices_[Operand(id, index)].apart && NeedApart(id)) {
        return false;
      }
      const FlatOp& op = graph_.ops[id];
      const auto dim = SplitDimension(split_.states[Operand(id, index)]);
      const int64_t size = op.instruction->shape.dimensions[*dim];
      Refuse(id,
             size % split_.mesh.device_count() == 0
                 ? "does not take it in parts"
                 : absl::StrCat("has ", size, " rows on a device, not ",
                                split_.mesh.device_count(), " equal parts"));
      return false;
    }
    if (IsPartial(Operand(id, index))) {
      for (OpId other{0}; other < std::ssize(region_); ++other) {
        if (region_[other] != region_[id] || !Enters(other) ||
            !graph_.ops[other].live || needs_.completed[other] ||
            !IsPartial(Operand(other, 0))) {
          continue;
        }
        needs_.completed[other] = true;
        found_needs_ = true;
      }
      if (found_needs_) return false;
      Refuse(id, "needs a sum over all micro-batches");
      return false;
    }
    Refuse(id, "works across micro-batches");
    return false;
  }

  // False if it is apart already.
  bool NeedApart(OpId id) {
    if (needs_.apart[id]) return false;
    needs_.apart[id] = true;
    found_needs_ = true;
    return true;
  }

  // The sharding of an array that enters or leaves, whichever region it is.
  std::string LayoutOf(OpId id) const {
    RegionEdge edge = *RegionEdgeOf(*graph_.ops[id].instruction);
    edge.region = 0;
    return ToString(edge);
  }

  bool Enter(OpId id) {
    const FlatOp& op = graph_.ops[id];
    const OnDevices& before = on_devices_[op.operands[0]];
    const Sharding given = RegionEdgeOf(*op.instruction)->sharding;
    const bool is_as_it_left = before.layout == LayoutOf(id);
    OnDevices result{.varies = is_as_it_left ? before.varies
                                             : SplitAxes(given).Bits()};
    if (before.apart && !is_as_it_left) {
      Refuse(id, "takes rows otherwise than they left another");
      return false;
    }
    if (const auto dim = SplitDimension(split_.states[op.first_result])) {
      result.rows = before.apart ? before.rows : AxesOf(given.dims[*dim]);
      result.varies &= ~result.rows.Bits();
    }
    return Set(op.first_result, std::move(result));
  }

  bool Leave(OpId id) {
    const ValueId value = Operand(id, 0);
    const OnDevices& given = on_devices_[value];
    const Sharding edge = RegionEdgeOf(*graph_.ops[id].instruction)->sharding;
    if (IsPartial(value) && given.unreduced != 0) {
      Refuse(id, absl::StrCat("leaves with sums of each device's own rows, "
                              "not summed over ",
                              Names(given.unreduced, id)));
      return false;
    }
    const auto dim = SplitDimension(split_.states[value]);
    // As residuals do, which are split over all axes.
    const bool apart = dim.has_value() && AxesOf(edge.dims[*dim]) != given.rows;
    if (apart && !AxesOf(edge.dims[*dim]).empty() && NeedApart(id)) {
      return false;
    }
    const auto edge_rank = static_cast<int64_t>(edge.dims.size());
    return Set(graph_.ops[id].first_result, {.varies = given.varies,
                                             .rows = given.rows,
                                             .layout = LayoutOf(id),
                                             .rank = edge_rank,
                                             .left = region_[id],
                                             .apart = apart});
  }

  // What is done between regions to what left one.
  bool WorkOutside(OpId id) {
    const FlatOp& op = graph_.ops[id];
    std::optional<OnDevices> given;
    for (const ValueId operand : op.operands) {
      const OnDevices& other = on_devices_[operand];
      if (other.layout.empty()) continue;
      if (!given.has_value()) given = other;
      given->varies |= other.varies;
      given->apart = given->apart || other.apart;
    }
    OnDevices result;
    if (given.has_value() && StaysAsItLeft(id, *given)) {
      result = *std::move(given);
    } else if (given.has_value() && given->apart) {
      Refuse(id, "takes what leaves it in an order of devices", given->left);
    }
    bool changes = false;
    for (int32_t i = 0; i < op.result_count; ++i) {
      // What came back in a loop may not be what it seemed to be.
      if (result.layout.empty() &&
          on_devices_[op.first_result + i].layout.empty()) {
        continue;
      }
      changes = Set(op.first_result + i, result) || changes;
    }
    return changes;
  }

  // Whether an operation leaves every element on its device.
  bool StaysAsItLeft(OpId id, const OnDevices& given) const {
    const FlatOp& op = graph_.ops[id];
    if (op.kind == OpKind::kOutput ||
        (IsCompute(id) && !KeepsPlaces(*op.instruction, given.rank))) {
      return false;
    }
    for (size_t i = 0; i < op.operands.size(); ++i) {
      const ValueId operand = op.operands[i];
      const OnDevices& other = on_devices_[operand];
      const bool is_alike = other.layout == given.layout &&
                            other.rows == given.rows &&
                            other.apart == given.apart;
      // What comes back in a loop is known later.
      const bool may_be = !is_settled_ && !other.is_known &&
                          graph_.producer(operand).kind == OpKind::kCarry;
      if (split_.completed[id][i] && IsRows(operand)) return false;
      if (!is_alike && !may_be && !IsUniform(graph_, operand)) return false;
    }
    return true;
  }

  bool TellDevice(OpId id) {
    const ValueId value = graph_.ops[id].first_result;
    DeviceValues numbers(mesh(id).device_count());
    for (size_t i = 0; i < numbers.size(); ++i) {
      numbers[i] = static_cast<int64_t>(i);
    }
    numbers_[value] = std::move(numbers);
    return Set(value, {.varies = mesh(id).AllSubAxes().Bits()});
  }

  // The integers that devices make of which they are.
  void FindNumbers(OpId id, OnDevices& result) {
    const FlatOp& op = graph_.ops[id];
    if (!IsCompute(id) || op.result_count != 1) return;
    const int64_t devices = mesh(id).device_count();
    std::vector<const DeviceValues*> operands;
    for (const ValueId operand : op.operands) {
      std::optional<DeviceValues>& numbers = numbers_[operand];
      // Constants need not be of this region.
      const FlatOp& producer = graph_.producer(operand);
      if (producer.kind == OpKind::kCompute &&
          producer.instruction->opcode == Opcode::kConstant) {
        numbers = Evaluate(*producer.instruction, {}, devices);
      }
      operands.push_back(numbers.has_value() ? &*numbers : nullptr);
    }
    std::optional<DeviceValues>& numbers = numbers_[op.first_result];
    numbers = Evaluate(*op.instruction, operands, devices);
    if (numbers.has_value()) result.varies = VaryingAxes(*numbers, mesh(id));
  }

  bool Touches(OpId id) const {
    return std::ranges::any_of(
        strategy(id).factor_axes,
        [](const AxisList& axes) { return !axes.empty(); });
  }

  // The rows that an operation works on, and whether it may do so.
  void FindRows(OpId id, OnDevices& result) {
    const FlatOp& op = graph_.ops[id];
    if (!Touches(id)) {
      CheckLinear(id, result.unreduced);
      return;
    }
    bool has_rows = false;
    for (const ValueId operand : op.operands) {
      const OnDevices& given = on_devices_[operand];
      if (!IsRows(operand) || !given.is_known) continue;
      if (has_rows && given.rows != result.rows) {
        Refuse(id, "takes rows that are split over different axes");
        return;
      }
      has_rows = true;
      result.rows = given.rows;
    }
    const uint32_t rows = result.rows.Bits();
    for (size_t i = 0; i < op.operands.size() && rows != 0; ++i) {
      const ValueId operand = op.operands[i];
      const Sharding taken = OperandSharding(
          rule(id), strategy(id), static_cast<int32_t>(i), split_.mesh);
      const auto dim = SplitDimension(taken);
      if (IsRows(operand) || split_.completed[id][i] || !dim.has_value() ||
          IsUniform(graph_, operand, *dim)) {
        continue;
      }
      if (!CutEntering(operand, taken, result.rows)) {
        found_needs_ = false;
        Refuse(id, absl::StrCat("depends on which row of a device it works on, "
                                "and devices along ",
                                Names(rows, id), " have others"));
        return;
      }
    }
    if (found_needs_) return;
    if ((result.varies & rows) != 0) {
      Refuse(id,
             absl::StrCat("depends on which device along ",
                          Names(result.varies & rows, id), " has which rows"));
    }
  }

  // Partial values of each device's own rows may only meet what is equal on
  // all that are to be summed.
  void CheckLinear(OpId id, uint32_t unreduced) {
    const FlatOp& op = graph_.ops[id];
    if (strategy(id).linear < 0) return;
    const std::vector<int32_t>& listed =
        rule(id).linear[strategy(id).linear].operands;
    for (size_t i = 0; i < op.operands.size(); ++i) {
      if (std::ranges::count(listed, static_cast<int32_t>(i)) > 0) continue;
      if ((on_devices_[op.operands[i]].varies & unreduced) == 0) continue;
      Refuse(id, absl::StrCat("depends on which device along ",
                              Names(unreduced, id), " has which rows"));
    }
  }

  void Communicate(OpId id, OnDevices& result) {
    const std::string why =
        Communicated(*graph_.ops[id].instruction, mesh(id), result);
    if (!why.empty()) Refuse(id, why);
  }

  // Has what `value` is made of enter the region in parts, so that it has the
  // rows of the micro-batch. False where that is not all it is made of.
  bool CutEntering(ValueId value, const Sharding& wanted,
                   const AxisList& rows) {
    const OpId id = graph_.values[value].producer;
    const auto dim = SplitDimension(wanted);
    if (!dim.has_value() || IsUniform(graph_, value, *dim)) return true;
    if (!IsCompute(id) || region_[id] == kOutside ||
        !split_.IsInvariant(value)) {
      return false;
    }
    if (Enters(id)) {
      const Sharding edge = RegionEdgeOf(*graph_.ops[id].instruction)->sharding;
      if (AxesOf(edge.dims[*dim]) != rows || needs_.split[id].has_value()) {
        return false;
      }
      needs_.split[id] = static_cast<int64_t>(*dim);
      found_needs_ = true;
      return true;
    }
    const FlatOp& op = graph_.ops[id];
    const int32_t result = graph_.values[value].result;
    const Strategy cut =
        StrategyFor(rule(id), rule(id).results[result], wanted, split_.mesh);
    if (op.operands.empty() || !IsValid(rule(id), cut, split_.mesh) ||
        ResultSharding(rule(id), cut, result, split_.mesh) != wanted) {
      return false;
    }
    for (size_t i = 0; i < cut.factor_axes.size(); ++i) {
      if (!cut.factor_axes[i].empty() &&
          rule(id).factors[i].kind != FactorKind::kKept) {
        return false;
      }
    }
    for (size_t i = 0; i < op.operands.size(); ++i) {
      if (!CutEntering(op.operands[i],
                       OperandSharding(rule(id), cut, static_cast<int32_t>(i),
                                       split_.mesh),
                       rows)) {
        return false;
      }
    }
    // Not made of anything that has rows, it has some of its own.
    return found_needs_;
  }

  const FlatGraph& graph_;
  const OpenedIslands& open_;
  const TimeSplit& split_;
  RegionNeeds& needs_;
  std::vector<int32_t> region_;        // By op.
  std::vector<OnDevices> on_devices_;  // By value.
  // By value: integers that are known on every device.
  std::vector<std::optional<DeviceValues>> numbers_;
  absl::flat_hash_map<OpId, ValueId> control_;  // Of carries and merges.
  std::string error_;
  bool found_needs_ = false;
  bool is_settled_ = false;
};

}  // namespace

absl::StatusOr<TimeSplit> SplitWithRegions(
    const FlatGraph& graph, const OpenedIslands& open, int64_t count,
    const std::vector<std::optional<int64_t>>& dimensions, bool estimates) {
  RegionNeeds needs{.completed = std::vector<bool>(graph.ops.size()),
                    .split = {},
                    .apart = std::vector<bool>(graph.ops.size())};
  needs.split.resize(graph.ops.size());
  while (true) {
    TimeSplit split =
        SplitOverTime(graph, count, dimensions, estimates, &needs);
    RegionCheck check(graph, open, split, needs);
    absl::StatusOr<bool> again = check.Run();
    if (!again.ok()) return again.status();
    if (*again) continue;
    split.in_region = check.InRegion();
    return split;
  }
}

}  // namespace meshwright
