#include "tests/rules/lowered.h"

#include "absl/strings/str_cat.h"
#include "meshwright/rules/lowering.h"

namespace meshwright {
namespace {

bool IsCollective(Opcode opcode) {
  return opcode == Opcode::kAllGather || opcode == Opcode::kAllReduce ||
         opcode == Opcode::kAllToAll || opcode == Opcode::kReduceScatter ||
         opcode == Opcode::kCollectivePermute;
}

}  // namespace

std::vector<std::string> Collectives(const BuiltOp& op,
                                     const Strategy& strategy,
                                     const Mesh& mesh) {
  const Rule rule = RuleFor(*op.instruction);
  LocalProgram program("local", mesh);
  Computation* entry =
      program.module.AddComputation(program.UniqueName("entry"));
  program.module.set_entry(entry);
  LocalBuilder builder(&program, entry);
  LocalOp local{*op.instruction, rule, strategy, {}};
  for (int32_t i = 0; i < static_cast<int32_t>(op.operand_leaves.size()); ++i) {
    const ElementType type = op.operand_leaves[i].element_type;
    local.operands.push_back(
        op.IsConstant(i)
            ? builder.Constant(type, op.spec.constants.at(i))
            : entry->AddParameter(
                  Shape::Array(
                      type,
                      LocalDimensions(OperandSharding(rule, strategy, i, mesh),
                                      mesh)),
                  program.UniqueName("parameter")));
  }
  Lower(local, builder);
  std::vector<std::string> texts;
  for (const auto& instruction : entry->instructions()) {
    if (!IsCollective(instruction->opcode)) continue;
    texts.push_back(absl::StrCat(instruction->opcode_name(), " ",
                                 instruction->shape.ToString()));
  }
  return texts;
}

}  // namespace meshwright
