// Who takes part in a collective: replica groups and source-target pairs.
#include <algorithm>

#include "meshwright/base/status_macros.h"
#include "meshwright/hlo/opcode_traits.h"
#include "meshwright/hlo/shape_checks.h"
#include "meshwright/hlo/verify_rules.h"

namespace meshwright {
namespace {

constexpr int64_t kSmallIds = 1 << 20;

bool NeedsEqualGroups(Opcode opcode) {
  return IsAlongDimension(CollectiveOf(opcode));
}

// A broadcast may omit devices; all others list every one.
bool NeedsAllIds(Opcode opcode) {
  return opcode != Opcode::kCollectiveBroadcast &&
         opcode != Opcode::kCollectiveReduce;
}

}  // namespace

bool CollectiveChecker::Insert(int64_t id) {
  if (id >= kSmallIds) return large_.insert(id).second;
  if (id >= std::ssize(last_seen_)) last_seen_.resize(id + 1);
  if (last_seen_[id] == round_) return false;
  last_seen_[id] = round_;
  return true;
}

absl::Status CollectiveChecker::CheckGroups(const Instruction& instruction) {
  const auto& groups = instruction.attributes->replica_groups;
  Clear();
  int64_t total = 0;
  int64_t largest = 0;
  for (size_t i = 0; i < groups.size(); ++i) {
    if (groups[i].empty()) return Bad("replica group ", i, " is empty");
    if (NeedsEqualGroups(instruction.opcode) &&
        groups[i].size() != groups[0].size()) {
      return Bad("replica groups must have one size; expected ",
                 groups[0].size(), ", got ", groups[i].size(), " in group ", i);
    }
    for (const int64_t id : groups[i]) {
      if (id < 0) return Bad("negative id ", id, " in replica group ", i);
      if (!Insert(id)) return Bad("id ", id, " is in replica groups twice");
      largest = std::max(largest, id);
    }
    total += std::ssize(groups[i]);
  }
  if (NeedsAllIds(instruction.opcode) && largest >= total) {
    return Bad("replica groups must name all ids below their number; expected ",
               "ids below ", total, ", got ", largest);
  }
  return absl::OkStatus();
}

absl::Status CollectiveChecker::CheckPairs(const Instruction& instruction) {
  const auto& pairs = instruction.attributes->source_target_pairs;
  // Forms with several operands may list a source once per operand.
  if (instruction.operands.size() > 1) return absl::OkStatus();
  for (const bool sources : {true, false}) {
    Clear();
    for (const SourceTarget& pair : pairs) {
      const int64_t id = sources ? pair.source : pair.target;
      const absl::string_view what = sources ? "source" : "target";
      if (id < 0) return Bad("negative ", what, " ", id, " in pairs");
      if (!Insert(id)) return Bad(what, " ", id, " is in pairs twice");
    }
  }
  return absl::OkStatus();
}

absl::Status CollectiveChecker::Check(const Instruction& instruction) {
  const Attributes& attributes = *instruction.attributes;
  if (!attributes.replica_groups.empty()) {
    MW_RETURN_IF_ERROR(CheckGroups(instruction));
  }
  if (!attributes.source_target_pairs.empty()) {
    MW_RETURN_IF_ERROR(CheckPairs(instruction));
  }
  return absl::OkStatus();
}

}  // namespace meshwright
