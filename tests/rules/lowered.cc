#include "tests/rules/lowered.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "meshwright/base/check.h"
#include "meshwright/rules/lowering.h"

namespace meshwright {

FactorKind KindOf(const Rule& rule, int32_t operand, int64_t dimension) {
  return rule.factors[rule.operands[operand][dimension][0]].kind;
}

LoweredOp LowerOp(const OneOp& op, int32_t operand, int64_t dimension,
                  const Mesh& mesh) {
  LoweredOp lowered;
  lowered.op = Build(op);
  lowered.rule = RuleFor(*lowered.op.instruction);
  const Rule& rule = lowered.rule;
  Strategy& strategy = lowered.strategy;
  strategy.factor_axes.resize(rule.factors.size());
  if (operand >= 0) {
    strategy.factor_axes[rule.operands[operand][dimension][0]] =
        mesh.AllSubAxes();
  }
  MW_CHECK(IsValid(rule, strategy, mesh));
  lowered.program = std::make_unique<LocalProgram>("local", mesh);
  Computation* entry = lowered.program->module.AddComputation("entry");
  LocalBuilder builder(lowered.program.get(), entry);
  LocalOp local{*lowered.op.instruction, rule, strategy, {}};
  for (int32_t i = 0; i < static_cast<int32_t>(rule.operands.size()); ++i) {
    local.operands.push_back(entry->AddParameter(
        Shape::Array(lowered.op.operand_leaves[i].element_type,
                     LocalDimensions(rule, strategy, rule.operands[i], mesh)),
        lowered.program->UniqueName("operand")));
  }
  lowered.results = Lower(local, builder);
  return lowered;
}

std::vector<std::string> CollectivesOf(const OneOp& op, int32_t operand,
                                       int64_t dimension, const Mesh& mesh) {
  const LoweredOp lowered = LowerOp(op, operand, dimension, mesh);
  std::vector<std::string> collectives;
  for (const auto& computation : lowered.program->module.computations()) {
    for (const auto& instruction : computation->instructions()) {
      if (lowered.program->collectives.contains(instruction.get())) {
        collectives.push_back(absl::StrCat(instruction->opcode_name(), " ",
                                           instruction->shape.ToString()));
      }
    }
  }
  return collectives;
}

std::vector<std::string> CollectivesOf(const OneOp& op, int32_t operand,
                                       int64_t dimension, int64_t devices) {
  return CollectivesOf(op, operand, dimension,
                       *Mesh::Parse(absl::StrCat(devices)));
}

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
    if (!program.collectives.contains(instruction.get())) continue;
    texts.push_back(absl::StrCat(instruction->opcode_name(), " ",
                                 instruction->shape.ToString()));
  }
  return texts;
}

}  // namespace meshwright
