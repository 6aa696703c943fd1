// Puts the body of an island into the per-device program: instruction by
// instruction as it is, with its own mesh's devices replaced by the plan's.
#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "meshwright/base/check.h"
#include "meshwright/hlo/opcode_traits.h"
#include "meshwright/rules/families.h"
#include "meshwright/rules/island.h"

namespace meshwright {
namespace {

using Groups = std::vector<std::vector<int64_t>>;

Shape WithoutLayout(const Shape& shape) {
  Shape plain = shape;
  plain.layout.reset();
  for (Shape& element : plain.tuple_shapes) element = WithoutLayout(element);
  return plain;
}

// Where the program has a say in how arrays lie in memory.
bool HasOwnLayout(const Instruction& instruction) {
  return instruction.opcode == Opcode::kConstant ||
         instruction.attributes->constrain_layout;
}

// Whether what a computation does depends on the device, or reaches others.
class DeviceDependence {
 public:
  bool Of(const Computation& computation) {
    if (const auto known = known_.find(&computation); known != known_.end()) {
      return known->second;
    }
    bool depends = false;
    for (const auto& instruction : computation.instructions()) {
      depends = depends || IsCollectiveOfIslands(instruction->opcode) ||
                IsDeviceId(instruction->opcode);
      for (const Computation* called : instruction->called) {
        depends = depends || Of(*called);
      }
    }
    return known_[&computation] = depends;
  }

 private:
  absl::flat_hash_map<const Computation*, bool> known_;
};

class IslandLowering {
 public:
  IslandLowering(const LocalOp& op, LocalProgram& program)
      : op_(op), program_(program) {
    const Mesh& mesh = program.mesh;
    AxisList unused;
    uint32_t used = 0;
    for (const AxisList& axes : op.strategy.factor_axes) used |= axes.Bits();
    for (const AxisId axis : mesh.AllSubAxes()) {
      if ((used >> axis & 1) == 0) unused.push_back(axis);
    }
    const int64_t count = mesh.device_count();
    positions_.resize(count, 0);
    copies_.resize(mesh.Size(unused));
    for (auto& copy : copies_) copy.resize(count / mesh.Size(unused));
    for (int64_t device = 0; device < count; ++device) {
      int64_t& position = positions_[device];
      for (size_t i = 0; i < op.rule.manual_axes.size(); ++i) {
        position = position * op.rule.manual_axes[i].size +
                   mesh.Coordinate(device, op.axes(static_cast<int32_t>(i)));
      }
      copies_[mesh.Coordinate(device, unused)][position] = device;
    }
  }

  LocalValues Run(LocalBuilder& builder) {
    Instruction* root =
        Expand(*op_.instruction.called[0], op_.operands, builder);
    if (!root->shape.IsTuple()) return {root};
    if (root->opcode == Opcode::kTuple) return root->operands;
    LocalValues elements;
    for (size_t i = 0; i < root->shape.tuple_shapes.size(); ++i) {
      elements.push_back(
          builder.GetTupleElement(root, static_cast<int64_t>(i)));
    }
    return elements;
  }

 private:
  // Adds the instructions of `from`; what its root became.
  Instruction* Expand(const Computation& from, const LocalValues& arguments,
                      LocalBuilder& builder) {
    LocalValues values(from.size());
    for (const auto& instruction : from.instructions()) {
      LocalValues operands;
      for (const Instruction* operand : instruction->operands) {
        operands.push_back(values[operand->id]);
      }
      values[instruction->id] =
          instruction->opcode == Opcode::kParameter
              ? arguments[instruction->attributes->parameter_number]
              : Place(*instruction, std::move(operands), builder);
    }
    return values[from.root()->id];
  }

  Instruction* Place(const Instruction& instruction, LocalValues operands,
                     LocalBuilder& builder) {
    const Shape shape = HasOwnLayout(instruction)
                            ? instruction.shape
                            : WithoutLayout(instruction.shape);
    switch (instruction.opcode) {
      case Opcode::kPartitionId:
        return builder.Convert(shape.element_type,
                               builder.DeviceTable(positions_));
      case Opcode::kReplicaId:
        return builder.Constant(shape.element_type, 0);
      case Opcode::kCall:
        return Expand(*instruction.called[0], operands, builder);
      default:
        break;
    }
    if (IsCollectiveOfIslands(instruction.opcode)) {
      return PlaceCollective(instruction, shape, std::move(operands), builder);
    }
    const bool depends = std::ranges::any_of(
        instruction.called,
        [&](const Computation* called) { return dependence_.Of(*called); });
    if (!depends) {
      return builder.Clone(instruction, shape, std::move(operands));
    }
    Instruction plain;
    plain.opcode = instruction.opcode;
    plain.name = instruction.name;
    plain.attributes = instruction.attributes;
    plain.metadata = instruction.metadata;
    plain.frontend_attributes = instruction.frontend_attributes;
    plain.unknown_fields = instruction.unknown_fields;
    Instruction* result = builder.Clone(plain, shape, std::move(operands));
    for (const Computation* called : instruction.called) {
      result->called.push_back(Copy(*called));
    }
    return result;
  }

  Computation* Copy(const Computation& from) {
    Computation* to =
        program_.module.AddComputation(program_.UniqueName(from.name()));
    LocalBuilder builder(&program_, to);
    builder.set_source(&op_.instruction);
    LocalValues arguments;
    for (const Instruction* parameter : from.Parameters()) {
      arguments.push_back(
          to->AddParameter(WithoutLayout(parameter->shape),
                           program_.UniqueName(parameter->name)));
    }
    to->set_root(Expand(from, arguments, builder));
    return to;
  }

  Instruction* PlaceCollective(const Instruction& instruction, Shape shape,
                               LocalValues operands, LocalBuilder& builder) {
    Instruction* result =
        builder.Clone(instruction, std::move(shape), std::move(operands));
    Attributes& attributes = result->attributes.mutate();
    attributes.channel_id = 0;
    attributes.use_global_device_ids = false;
    CollectiveNote note{.tensor = op_.instruction.name};
    if (instruction.opcode == Opcode::kCollectivePermute) {
      attributes.source_target_pairs =
          Translated(attributes.source_target_pairs);
      program_.collectives[result] = std::move(note);
      return result;
    }
    attributes.replica_groups = Translated(attributes.replica_groups);
    note.axes = AxesOf(attributes.replica_groups);
    if (!note.axes.empty()) program_.collectives[result] = std::move(note);
    return result;
  }

  Groups Translated(const Groups& groups) const {
    Groups result;
    for (const std::vector<int64_t>& devices : copies_) {
      if (groups.empty()) result.push_back(devices);  // All of them.
      for (const std::vector<int64_t>& group : groups) {
        std::vector<int64_t>& members = result.emplace_back();
        for (const int64_t position : group) {
          members.push_back(devices[position]);
        }
      }
    }
    return result;
  }

  std::vector<SourceTarget> Translated(
      const std::vector<SourceTarget>& pairs) const {
    std::vector<SourceTarget> result;
    for (const std::vector<int64_t>& devices : copies_) {
      for (const SourceTarget& pair : pairs) {
        result.push_back(
            {.source = devices[pair.source], .target = devices[pair.target]});
      }
    }
    return result;
  }

  // The axes along which the groups' devices differ; none if groups are not
  // all devices that differ along these.
  AxisList AxesOf(Groups groups) const {
    const Mesh& mesh = program_.mesh;
    AxisList axes;
    for (const AxisId axis : mesh.AllSubAxes()) {
      for (const int64_t device : groups[0]) {
        if (mesh.Coordinate(device, {axis}) !=
            mesh.Coordinate(groups[0][0], {axis})) {
          axes.push_back(axis);
          break;
        }
      }
    }
    const auto sort = [](Groups& list) {
      for (auto& group : list) std::ranges::sort(group);
      std::ranges::sort(list);
    };
    Groups expected = mesh.Groups(axes);
    sort(expected);
    sort(groups);
    return groups == expected ? axes : AxisList();
  }

  const LocalOp& op_;
  LocalProgram& program_;
  std::vector<int64_t> positions_;            // In the island, by device.
  std::vector<std::vector<int64_t>> copies_;  // Devices by copy and position.
  DeviceDependence dependence_;
};

}  // namespace

LocalValues LowerIsland(const LocalOp& op, LocalBuilder& builder) {
  MW_CHECK(IsValid(op.rule, op.strategy, builder.mesh()));
  return IslandLowering(op, builder.program()).Run(builder);
}

}  // namespace meshwright
