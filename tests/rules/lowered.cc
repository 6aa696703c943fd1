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
                  const Mesh& mesh, double sent_byte) {
  const BuiltOp built = Build(op);
  const Rule rule = RuleFor(*built.instruction);
  Strategy strategy;
  strategy.factor_axes.resize(rule.factors.size());
  if (operand >= 0) {
    SetAxes(rule, rule.operands[operand][dimension][0], mesh.AllSubAxes(),
            strategy);
  }
  return LowerOp(op, strategy, mesh, sent_byte);
}

LoweredOp LowerOp(const OneOp& op, const Strategy& strategy, const Mesh& mesh,
                  double sent_byte) {
  LoweredOp lowered;
  lowered.op = Build(op);
  lowered.rule = RuleFor(*lowered.op.instruction);
  lowered.strategy = strategy;
  const Rule& rule = lowered.rule;
  MW_CHECK(IsValid(rule, strategy, mesh));
  lowered.program = std::make_unique<LocalProgram>("local", mesh);
  lowered.program->permute_in_flops = [=](const AxisList&, double bytes) {
    return sent_byte * bytes;
  };
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

std::vector<std::string> CollectivesOf(const LoweredOp& lowered) {
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
                                       int64_t dimension, const Mesh& mesh) {
  return CollectivesOf(LowerOp(op, operand, dimension, mesh));
}

std::vector<std::string> CollectivesOf(const OneOp& op, int32_t operand,
                                       int64_t dimension, int64_t devices) {
  return CollectivesOf(op, operand, dimension,
                       *Mesh::Parse(absl::StrCat(devices)));
}

}  // namespace meshwright
