// Communication among replicas and partitions.
#include <optional>

#include "meshwright/base/status_macros.h"
#include "meshwright/hlo/infer_rules.h"
#include "meshwright/hlo/shape_checks.h"

namespace meshwright {
namespace {

// One operand: its shape; several: the tuple of their shapes.
Inferred LikeOperands(const Instruction& instruction) {
  if (instruction.operands.size() == 1) {
    return Inferred::Like(instruction.operand_shape(0));
  }
  std::vector<const Shape*> shapes;
  for (const Instruction* operand : instruction.operands) {
    shapes.push_back(&operand->shape);
  }
  return Inferred::Tuple(std::move(shapes));
}

// The group size, if the module states it. Without groups it depends on the
// number of devices; with a channel but without global ids, the listed replicas
// count once per partition.
std::optional<int64_t> GroupSize(const Instruction& instruction) {
  const Attributes& attributes = *instruction.attributes;
  if (attributes.replica_groups.empty()) return std::nullopt;
  if (attributes.channel_id > 0 && !attributes.use_global_device_ids &&
      instruction.opcode != Opcode::kAllToAll) {
    return std::nullopt;
  }
  return std::ssize(attributes.replica_groups[0]);
}

// `small` and `large` agree except that dimension `along` of `large` is
// `group` times as long (any whole number of times where group is unknown).
bool Scales(const Shape& small, const Shape& large, int64_t along,
            std::optional<int64_t> group) {
  if (small.element_type != large.element_type ||
      small.rank() != large.rank() || along >= small.rank()) {
    return false;
  }
  for (int64_t d = 0; d < small.rank(); ++d) {
    if (d != along && small.dimensions[d] != large.dimensions[d]) return false;
  }
  const int64_t part = small.dimensions[along];
  const int64_t whole = large.dimensions[along];
  if (!group.has_value()) return part == 0 ? whole == 0 : whole % part == 0;
  int64_t expected;
  return !__builtin_mul_overflow(part, *group, &expected) && expected == whole;
}

// Results are operands with dimension `along` multiplied (all-gather) or
// divided (reduce-scatter) by the group's size.
absl::StatusOr<Inferred> InferScaled(const Instruction& instruction,
                                     bool grows) {
  MW_RETURN_IF_ERROR(CheckArrays(instruction));
  const size_t count = instruction.operands.size();
  const Shape& shape = instruction.shape;
  const bool tuple = count > 1;
  if (tuple ? !shape.IsTuple() || shape.tuple_shapes.size() != count
            : !shape.IsArray()) {
    return Bad("expected one result per operand, got ", Describe(shape),
               " for ", count, " operands");
  }
  MW_ASSIGN_OR_RETURN(
      const int64_t along,
      OnlyDimension(instruction, instruction.operand_shape(0).rank()));
  const std::optional<int64_t> group = GroupSize(instruction);
  for (size_t i = 0; i < count; ++i) {
    const Shape& operand = instruction.operand_shape(i);
    const Shape& result = tuple ? shape.tuple_shapes[i] : shape;
    if (grows ? Scales(operand, result, along, group)
              : Scales(result, operand, along, group)) {
      continue;
    }
    return Bad("wrong result shape; expected ", Describe(operand),
               " with dimension ", along, grows ? " times " : " divided by ",
               group.has_value() ? absl::StrCat(*group) : "the group's size",
               ", got ", Describe(result));
  }
  return Inferred::Own();
}

}  // namespace

absl::StatusOr<Inferred> InferAllReduce(const Instruction& instruction) {
  MW_RETURN_IF_ERROR(CheckArrays(instruction));
  return LikeOperands(instruction);
}

absl::StatusOr<Inferred> InferAllGather(const Instruction& instruction) {
  return InferScaled(instruction, /*grows=*/true);
}

absl::StatusOr<Inferred> InferReduceScatter(const Instruction& instruction) {
  return InferScaled(instruction, /*grows=*/false);
}

absl::StatusOr<Inferred> InferAllToAll(const Instruction& instruction) {
  MW_RETURN_IF_ERROR(CheckArrays(instruction));
  const std::optional<int64_t> group = GroupSize(instruction);
  const size_t count = instruction.operands.size();
  const Shape& first = instruction.operand_shape(0);
  if (!instruction.attributes->dimensions.empty()) {
    MW_ASSIGN_OR_RETURN(const int64_t along,
                        OnlyDimension(instruction, first.rank()));
    if (count != 1) {
      return Bad("wrong number of operands with a split dimension; expected 1",
                 ", got ", count);
    }
    const int64_t size = first.dimensions[along];
    if (group.has_value() && (*group == 0 || size % *group != 0)) {
      return Bad("the group must divide dimension ", along, "; got group of ",
                 *group, " for ", Describe(first));
    }
    return Inferred::Like(first);
  }
  if (group.has_value() && static_cast<int64_t>(count) != *group) {
    return Bad("wrong number of operands; expected one per group member, ",
               *group, ", got ", count);
  }
  for (size_t i = 1; i < count; ++i) {
    if (!Compatible(instruction.operand_shape(i), first)) {
      return Bad("operand ", i, " differs from operand 0; expected ",
                 Describe(first), ", got ",
                 Describe(instruction.operand_shape(i)));
    }
  }
  if (count == 1 && instruction.shape.IsArray()) return Inferred::Like(first);
  return Inferred::Tuple(std::vector<const Shape*>(count, &first));
}

absl::StatusOr<Inferred> InferRaggedAllToAll(const Instruction& instruction) {
  MW_RETURN_IF_ERROR(CheckArrays(instruction));
  return Inferred::Like(instruction.operand_shape(1));
}

absl::StatusOr<Inferred> InferCollectivePermute(
    const Instruction& instruction) {
  // The in-place form states its own shape.
  if (!instruction.attributes->dynamic_slice_sizes.empty()) {
    return Inferred::Own();
  }
  return LikeOperands(instruction);
}

absl::StatusOr<Inferred> InferReplicaId(const Instruction&) {
  return Inferred::Array(ElementType::kU32, {});
}

}  // namespace meshwright
