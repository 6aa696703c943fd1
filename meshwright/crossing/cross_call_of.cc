#include "meshwright/crossing/cross_call_of.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/crossing/wire_type.h"
#include "meshwright/wire/reduce.h"

namespace meshwright {
namespace {

std::optional<CrossKind> KindOf(Opcode opcode) {
  switch (opcode) {
    case Opcode::kAllReduce:
      return CrossKind::kAllReduce;
    case Opcode::kReduceScatter:
      return CrossKind::kReduceScatter;
    case Opcode::kAllGather:
      return CrossKind::kAllGather;
    case Opcode::kAllToAll:
      return CrossKind::kAllToAll;
    case Opcode::kCollectivePermute:
      return CrossKind::kPermute;
    case Opcode::kCollectiveBroadcast:
      return CrossKind::kBroadcast;
    default:
      return std::nullopt;
  }
}

absl::Status Cannot(const Instruction& instruction, absl::string_view why) {
  return absl::UnimplementedError(
      absl::StrCat(instruction.name, " (", instruction.opcode_name(),
                   "): ", why, " between processes"));
}

// The reduction that the combiner's root computes.
std::optional<ReduceOp> ReduceOpOf(const Computation& combiner) {
  const Instruction& root = *combiner.root();
  if (root.operands.size() != 2 || root.operands[0] == root.operands[1]) {
    return std::nullopt;
  }
  for (const Instruction* operand : root.operands) {
    if (operand->opcode != Opcode::kParameter) return std::nullopt;
  }
  switch (root.opcode) {
    case Opcode::kAdd:
      return ReduceOp::kSum;
    case Opcode::kMultiply:
      return ReduceOp::kProduct;
    case Opcode::kMaximum:
      return ReduceOp::kMax;
    case Opcode::kMinimum:
      return ReduceOp::kMin;
    case Opcode::kAnd:
      return ReduceOp::kAnd;
    case Opcode::kOr:
      return ReduceOp::kOr;
    default:
      return std::nullopt;
  }
}

absl::Status CheckForm(const Instruction& instruction) {
  const Attributes& attributes = *instruction.attributes;
  if (attributes.channel_id != 0 && !attributes.use_global_device_ids) {
    return Cannot(instruction, "no channel without global device ids");
  }
  const size_t results = Leaves(instruction.shape).size();
  if (results != instruction.operands.size() ||
      !attributes.dynamic_slice_sizes.empty()) {
    return Cannot(instruction, "not this form");
  }
  for (const Instruction* operand : instruction.operands) {
    if (!operand->shape.IsArray()) {
      return Cannot(instruction,
                    absl::StrCat("no ", operand->shape.ToString()));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<CrossCall> CrossCallOf(const Instruction& instruction,
                                      const DeviceGroups& groups,
                                      const ProcessPlace& place, uint32_t tag) {
  const std::optional<CrossKind> kind = KindOf(instruction.opcode);
  if (!kind.has_value()) return Cannot(instruction, "does not work");
  MW_RETURN_IF_ERROR(CheckForm(instruction));
  const Attributes& attributes = *instruction.attributes;
  CrossCall call;
  call.kind = *kind;
  call.dimension =
      attributes.dimensions.empty() ? -1 : attributes.dimensions[0];
  if (Reduces(*kind)) {
    const std::optional<ReduceOp> op = ReduceOpOf(*instruction.called.at(0));
    if (!op.has_value()) {
      return Cannot(instruction, absl::StrCat("no reduction ",
                                              instruction.called[0]->name()));
    }
    call.op = *op;
    for (const Instruction* operand : instruction.operands) {
      const ElementType type = operand->shape.element_type;
      if (!CheckReduces(*op, WireType(type, true)).ok()) {
        return Cannot(instruction, absl::StrCat("no ", ReduceOpName(*op),
                                                " of ", Name(type)));
      }
    }
  }
  for (size_t i = 0; i < groups.groups.size(); ++i) {
    CrossGroup group{.tag = tag + static_cast<uint32_t>(i)};
    bool is_here = false;
    for (const int64_t device : groups.groups[i]) {
      const int process = place.process_of[device];
      group.members.push_back({.device = device, .process = process});
      is_here |= process == place.process;
    }
    if (!is_here) continue;
    for (const SourceTarget& pair : attributes.source_target_pairs) {
      if (std::ranges::find(groups.groups[i], pair.source) !=
          groups.groups[i].end()) {
        call.pairs.emplace_back(pair.source, pair.target);
      }
    }
    call.groups.push_back(std::move(group));
  }
  return call;
}

}  // namespace meshwright
