#include "meshwright/explain/explain_part.h"

#include <algorithm>
#include <iterator>

namespace meshwright {
namespace {

bool IsKeyIn(const Block& block, const NamedPart& part) {
  return part.ops.contains(block.key);
}

bool HasOpsOf(const Block& block, const NamedPart& part) {
  return std::ranges::any_of(block.members, [&](const LabelledOp& member) {
    return part.ops.contains(member.op);
  });
}

Blocks BlocksOf(const Blocks& blocks, const NamedPart& part) {
  Blocks own;
  for (const auto is_own : {&IsKeyIn, &HasOpsOf}) {
    std::ranges::copy_if(
        blocks.blocks, std::back_inserter(own.blocks),
        [&](const Block& block) { return is_own(block, part); });
    if (!own.blocks.empty()) break;
  }
  return own;
}

}  // namespace

PartReport ExplainPart(const PlanStudy& study, const Blocks& blocks,
                       const NamedPart& part, int questions) {
  const Blocks own = BlocksOf(blocks, part);
  PartReport report{.name = part.name};
  const StudyNames names(study);
  for (const GroupId group : part.groups) {
    const FlatOp& op = study.model().op(group);
    const bool is_parameter = op.kind == OpKind::kParameter;
    if (!is_parameter && !own.blocks.empty()) continue;
    const int32_t chosen = study.chosen()[group];
    report.choices.push_back(
        {.name = study.NameOf(group),
         .shown = names.Of(group),
         .opcode = study.OpcodeOf(group),
         .shape = study.ShapeOf(group),
         .count = std::ssize(study.model().groups.members[group]),
         .option = chosen < 0 ? "" : study.TextOf(group, chosen)});
  }
  report.blocks = ExplainBlocks(study, own, questions);
  return report;
}

}  // namespace meshwright
