#include "meshwright/microbatch/region_devices.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_join.h"
#include "meshwright/analysis/known_scalars.h"
#include "meshwright/hlo/opcode_traits.h"

namespace meshwright {
namespace {

constexpr int64_t kNobody = -1;

uint32_t BitOf(AxisId axis) { return uint32_t{1} << axis; }

// The device that differs from `device` in that it is at `at` along `axis`.
int64_t Moved(int64_t device, AxisId axis, int64_t at, const Mesh& mesh) {
  int64_t moved = 0;
  for (const AxisId each : mesh.AllSubAxes()) {
    const int64_t own = each == axis ? at : mesh.Coordinate(device, {each});
    moved = moved * mesh.Size(each) + own;
  }
  return moved;
}

std::vector<std::vector<int64_t>> GroupsOf(const Instruction& collective,
                                           const Mesh& mesh) {
  if (!collective.attributes->replica_groups.empty()) {
    return collective.attributes->replica_groups;
  }
  return mesh.Groups(mesh.AllSubAxes());
}

uint32_t DifferingAxes(const std::vector<int64_t>& devices, const Mesh& mesh) {
  uint32_t axes = 0;
  for (const AxisId axis : mesh.AllSubAxes()) {
    for (const int64_t device : devices) {
      if (mesh.Coordinate(device, {axis}) !=
          mesh.Coordinate(devices[0], {axis})) {
        axes |= BitOf(axis);
      }
    }
  }
  return axes;
}

uint32_t AllAxes(const Mesh& mesh) { return mesh.AllSubAxes().Bits(); }

Reach ReachOfPairs(const Instruction& permute, const Mesh& mesh) {
  DeviceValues target(mesh.device_count(), kNobody);
  DeviceValues is_target(mesh.device_count(), 0);
  Reach reach;
  for (const SourceTarget& pair : permute.attributes->source_target_pairs) {
    target[pair.source] = pair.target;
    is_target[pair.target] = 1;
    reach.axes |= DifferingAxes({pair.source, pair.target}, mesh);
  }
  // Devices that nothing is sent to have zeros.
  reach.differs = reach.axes | VaryingAxes(is_target, mesh);
  for (const AxisId axis : mesh.AllSubAxes()) {
    for (int64_t device = 0; device < mesh.device_count(); ++device) {
      const int64_t first = target[Moved(device, axis, 0, mesh)];
      const int64_t expected =
          first == kNobody
              ? kNobody
              : Moved(first, axis, mesh.Coordinate(device, {axis}), mesh);
      if (target[device] != expected) reach.differs |= BitOf(axis);
    }
  }
  return reach;
}

}  // namespace

std::string AxisNames(uint32_t bits, const Mesh& mesh) {
  std::set<std::string> names;
  for (const AxisId axis : mesh.AllSubAxes()) {
    if ((bits & BitOf(axis)) == 0) continue;
    names.insert(mesh.axes()[mesh.sub_axes()[axis].axis].name);
  }
  return absl::StrJoin(names, ",");
}

uint32_t VaryingAxes(const DeviceValues& values, const Mesh& mesh) {
  uint32_t axes = 0;
  for (const AxisId axis : mesh.AllSubAxes()) {
    for (int64_t device = 0; device < std::ssize(values); ++device) {
      if (values[device] != values[Moved(device, axis, 0, mesh)]) {
        axes |= BitOf(axis);
      }
    }
  }
  return axes;
}

std::optional<DeviceValues> Evaluate(
    const Instruction& instruction,
    const std::vector<const DeviceValues*>& operands, int64_t devices) {
  if (!instruction.shape.IsScalar() ||
      !IsInteger(instruction.shape.element_type) ||
      BitWidth(instruction.shape.element_type) < 32) {
    return std::nullopt;
  }
  if (instruction.opcode == Opcode::kConstant) {
    const std::optional<int64_t> value = ScalarConstant(instruction);
    if (!value.has_value()) return std::nullopt;
    return DeviceValues(devices, *value);
  }
  if (operands.empty() || std::ranges::count(operands, nullptr) > 0) {
    return std::nullopt;
  }
  DeviceValues values;
  for (int64_t device = 0; device < devices; ++device) {
    std::vector<int64_t> own;
    for (const DeviceValues* operand : operands) {
      own.push_back((*operand)[device]);
    }
    const std::optional<int64_t> value = KeepsElements(instruction.opcode)
                                             ? own[0]
                                             : IntegerResult(instruction, own);
    // Not negative, and not too large: signed or not, it is the same.
    if (!value.has_value() || *value < 0 || *value > INT32_MAX) {
      return std::nullopt;
    }
    values.push_back(*value);
  }
  return values;
}

Reach ReachOf(const Instruction& collective, const Mesh& mesh) {
  if (collective.opcode == Opcode::kCollectivePermute) {
    return ReachOfPairs(collective, mesh);
  }
  Reach reach;
  std::vector<std::vector<int64_t>> groups = GroupsOf(collective, mesh);
  for (const std::vector<int64_t>& group : groups) {
    reach.axes |= DifferingAxes(group, mesh);
  }
  AxisList axes;
  for (const AxisId axis : mesh.AllSubAxes()) {
    if ((reach.axes & BitOf(axis)) != 0) axes.push_back(axis);
  }
  std::vector<std::vector<int64_t>> expected = mesh.Groups(axes);
  std::ranges::sort(groups);
  std::ranges::sort(expected);
  reach.is_complete = groups == expected;
  if (!reach.is_complete) {
    reach.differs = AllAxes(mesh);
  } else if (!MakesEqual(collective.opcode)) {
    reach.differs = reach.axes;
  }
  return reach;
}

}  // namespace meshwright
