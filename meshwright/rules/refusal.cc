#include "meshwright/rules/refusal.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "meshwright/hlo/computation.h"
#include "meshwright/hlo/opcode_traits.h"
#include "meshwright/rules/island.h"
#include "meshwright/rules/recorded_flops.h"
#include "meshwright/rules/rule_text.h"
#include "meshwright/rules/shape_bound.h"

namespace meshwright {
namespace {

bool IsDynamic(const Shape& shape) {
  const std::vector<bool>& marks = shape.dynamic_dimensions;
  return std::find(marks.begin(), marks.end(), true) != marks.end() ||
         std::any_of(shape.tuple_shapes.begin(), shape.tuple_shapes.end(),
                     IsDynamic);
}

absl::string_view ReasonOfOpcode(Opcode opcode) {
  if (IsCollective(opcode)) {
    return "the program already communicates between devices";
  }
  if (IsDeviceId(opcode)) return "the program already tells devices apart";
  if (IsHostExchange(opcode)) {
    return "the program exchanges data with the host while it runs";
  }
  if (IsDynamicSize(opcode)) return "sizes are known only at run time";
  if (IsAsynchronous(opcode)) {
    return "the program is already compiled for a device";
  }
  return "";
}

absl::string_view ReasonOfCustomCall(const Attributes& attributes) {
  const std::string& target = attributes.custom_call_target;
  for (const absl::string_view boundary :
       {"SPMDFullToShardShape", "SPMDShardToFullShape",
        "xla.sdy.GlobalToLocalShape", "xla.sdy.LocalToGlobalShape"}) {
    if (target == boundary) return "a part is partitioned by hand";
  }
  if (attributes.custom_call_has_side_effect) {
    return "it has effects outside the program";
  }
  return "";
}

bool NamesOthers(const Instruction& collective, int64_t devices) {
  const auto is_other = [&](int64_t id) { return id < 0 || id >= devices; };
  for (const auto& group : collective.attributes->replica_groups) {
    if (std::ranges::any_of(group, is_other)) return true;
  }
  return std::ranges::any_of(
      collective.attributes->source_target_pairs, [&](const auto& pair) {
        return is_other(pair.source) || is_other(pair.target);
      });
}

// Of what an island's body does, and all that it calls.
std::string RefusalInside(const Computation& body, int64_t devices) {
  for (const auto& instruction : body.instructions()) {
    std::string reason;
    if (IsCollectiveOfIslands(instruction->opcode)) {
      if (NamesOthers(*instruction, devices)) {
        reason = absl::StrCat(instruction->opcode_name(),
                              " names a device that the mesh does not have");
      }
    } else if (IsIsland(*instruction)) {
      reason = "another shard_map";
    } else if (!IsDeviceId(instruction->opcode)) {
      reason = Refusal(*instruction);
    }
    for (const Computation* called : instruction->called) {
      if (reason.empty()) reason = RefusalInside(*called, devices);
    }
    if (!reason.empty()) return reason;
  }
  return "";
}

// Empty if the region can be put into a program as it is.
std::string RefusalOfIsland(const Instruction& instruction) {
  const absl::StatusOr<Island> island = IslandOf(instruction);
  if (!island.ok()) return std::string(island.status().message());
  const std::string inside =
      RefusalInside(*instruction.called[0], island->mesh.device_count());
  return inside.empty() ? "" : absl::StrCat("in its shard_map: ", inside);
}

}  // namespace

std::string Refusal(const Instruction& instruction) {
  if (IsIsland(instruction)) return RefusalOfIsland(instruction);
  absl::string_view reason = ReasonOfOpcode(instruction.opcode);
  if (reason.empty() && instruction.opcode == Opcode::kCustomCall) {
    reason = ReasonOfCustomCall(*instruction.attributes);
    if (!reason.empty()) {
      return absl::StrCat("custom-call ",
                          instruction.attributes->custom_call_target, ": ",
                          reason);
    }
  }
  // What is traced beside a call may have its attribute, too.
  const std::string* rule = instruction.opcode == Opcode::kCustomCall
                                ? RecordedRule(instruction)
                                : nullptr;
  if (rule != nullptr) {
    const absl::StatusOr<Rule> parsed = ParseRule(*rule, instruction);
    const absl::Status fits =
        parsed.ok() ? CheckMayBeSplit(instruction, *parsed) : parsed.status();
    if (!fits.ok()) {
      return absl::StrCat("its rule '", *rule, "': ", fits.message());
    }
  }
  if (std::string wrong = WrongFlops(instruction); !wrong.empty()) return wrong;
  if (reason.empty() && IsDynamic(instruction.shape)) {
    reason = "sizes are known only at run time";
  }
  if (reason.empty()) return "";
  return absl::StrCat(instruction.opcode_name(), ": ", reason);
}

}  // namespace meshwright
