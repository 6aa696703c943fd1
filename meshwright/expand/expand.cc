#include "meshwright/expand/expand.h"

#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "meshwright/base/annotate.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/expand/expansions.h"
#include "meshwright/hlo/read_module.h"
#include "meshwright/hlo/scaled_dot_numbers.h"
#include "meshwright/hlo/write_module.h"
#include "meshwright/rules/fused_attention.h"

namespace meshwright {
namespace {

// Null for what the platform has.
Expansion ExpansionOf(const Instruction& instruction,
                      absl::string_view platform) {
  if (instruction.opcode == Opcode::kRaggedDot && platform == "cpu") {
    return ExpandRaggedDot;
  }
  if (IsFusedAttention(instruction) && platform != "cuda") {
    return ExpandAttention;
  }
  if ((instruction.opcode == Opcode::kScaledDot && platform == "cpu") ||
      (IsBlockScaledDot(instruction) && platform != "cuda")) {
    return ExpandScaledDot;
  }
  if (SeemsGrouped(instruction)) return ExpandSeemingGroups;
  if (AddsHalves(instruction) && platform == "cuda") return ExpandSumOfHalves;
  if (instruction.opcode == Opcode::kScan && platform == "cpu") {
    return ExpandScan;
  }
  return nullptr;
}

bool LacksAny(absl::string_view platform, const Computation& computation) {
  for (const auto& instruction : computation.instructions()) {
    if (ExpansionOf(*instruction, platform) != nullptr) return true;
  }
  return false;
}

bool LacksAny(absl::string_view platform, const Module& module) {
  for (const auto& computation : module.computations()) {
    if (LacksAny(platform, *computation)) return true;
  }
  return false;
}

absl::Status ExpandComputation(absl::string_view platform,
                               Computation& computation,
                               LocalProgram& program) {
  LocalBuilder builder(&program, &computation);
  absl::flat_hash_map<const Instruction*, Instruction*> replaced;
  const auto replace = [&](Instruction*& value) {
    const auto found = replaced.find(value);
    if (found != replaced.end()) value = found->second;
  };
  std::vector<Instruction*> order;
  Instruction* root = computation.root();  // Whatever is added takes its place.
  const int32_t count = computation.size();
  for (int32_t id = 0; id < count; ++id) {
    Instruction* instruction = computation.instruction(id);
    for (Instruction*& operand : instruction->operands) replace(operand);
    for (Instruction*& before : instruction->control_predecessors) {
      replace(before);
    }
    const Expansion expand = ExpansionOf(*instruction, platform);
    if (expand == nullptr) {
      order.push_back(instruction);
      continue;
    }
    const int32_t first = computation.size();
    builder.set_source(instruction);
    absl::StatusOr<Instruction*> made = expand(*instruction, builder);
    if (!made.ok()) return Annotate(made.status(), instruction->name);
    replaced[instruction] = *made;
    for (int32_t i = first; i < computation.size(); ++i) {
      order.push_back(computation.instruction(i));
    }
  }
  replace(root);
  computation.set_root(root);
  computation.Keep(order);
  return absl::OkStatus();
}

}  // namespace

absl::Status ExpandFor(absl::string_view platform, Module& module) {
  if (!LacksAny(platform, module)) return absl::OkStatus();
  LocalProgram program(module.name(), Mesh::Create({}).value());
  program.module = std::move(module);
  std::vector<Computation*> lacking;
  for (const auto& computation : program.module.computations()) {
    if (LacksAny(platform, *computation)) lacking.push_back(computation.get());
    program.UniqueName(computation->name());
    for (const auto& instruction : computation->instructions()) {
      program.UniqueName(instruction->name);
    }
  }
  absl::Status status;
  for (Computation* computation : lacking) {
    status.Update(ExpandComputation(platform, *computation, program));
  }
  program.module.Finish();
  module = std::move(program.module);
  return status;
}

absl::StatusOr<std::string> WriteModuleFor(absl::string_view platform,
                                           const Module& module) {
  MW_ASSIGN_OR_RETURN(std::string code, WriteModule(module));
  if (!LacksAny(platform, module)) return code;
  MW_ASSIGN_OR_RETURN(Module expanded, ReadModule(code));
  MW_RETURN_IF_ERROR(ExpandFor(platform, expanded));
  return WriteModule(expanded);
}

}  // namespace meshwright
