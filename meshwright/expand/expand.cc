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

// The expansions of a computation's instructions.
class Expansions {
 public:
  Expansions(absl::string_view platform, const Computation& computation)
      : platform_(platform) {
    if (platform_ == "cuda") of_results_ = ElementsOfResults(computation);
  }

  // Null if the platform supports the instruction.
  Expansion Of(const Instruction& instruction) const {
    if (instruction.opcode == Opcode::kRaggedDot &&
        (platform_ == "cpu" || platform_ == "cuda")) {
      return ExpandRaggedDot;
    }
    if (IsFusedAttention(instruction) && platform_ != "cuda") {
      return ExpandAttention;
    }
    if ((instruction.opcode == Opcode::kScaledDot && platform_ == "cpu") ||
        (IsBlockScaledDot(instruction) && platform_ != "cuda")) {
      return ExpandScaledDot;
    }
    if (SeemsGrouped(instruction)) return ExpandSeemingGroups;
    if (CallsLapack(instruction)) return ExpandLapack;
    if (platform_ == "cuda") return OfCuda(instruction);
    if (platform_ == "cpu") return OfCpu(instruction);
    return nullptr;
  }

 private:
  static Expansion OfCpu(const Instruction& instruction) {
    if (instruction.opcode == Opcode::kScan) return ExpandScan;
    if (instruction.opcode == Opcode::kFft) return ExpandFft;
    return nullptr;
  }

  // Instructions that are slow there.
  Expansion OfCuda(const Instruction& instruction) const {
    if (MeetsInFewRows(instruction)) return ExpandFewRows;
    if (AddsHalves(instruction)) return ExpandSumOfHalves;
    if (GathersInside(instruction) && of_results_[instruction.id]) {
      return ExpandGatherInside;
    }
    if (ReducesOuterDimensions(instruction)) return ExpandOuterReduction;
    return nullptr;
  }

  absl::string_view platform_;
  std::vector<bool> of_results_;
};

bool LacksAny(absl::string_view platform, const Computation& computation) {
  const Expansions expansions(platform, computation);
  for (const auto& instruction : computation.instructions()) {
    if (expansions.Of(*instruction) != nullptr) return true;
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
  const Expansions expansions(platform, computation);
  LocalBuilder builder(&program, &computation);
  absl::flat_hash_map<const Instruction*, Instruction*> replaced;
  const auto replace = [&](Instruction*& value) {
    const auto found = replaced.find(value);
    if (found != replaced.end()) value = found->second;
  };
  std::vector<Instruction*> order;
  // Adding instructions changes the root.
  Instruction* root = computation.root();
  const int32_t count = computation.size();
  for (int32_t id = 0; id < count; ++id) {
    Instruction* instruction = computation.instruction(id);
    for (Instruction*& operand : instruction->operands) replace(operand);
    for (Instruction*& before : instruction->control_predecessors) {
      replace(before);
    }
    const Expansion expand = expansions.Of(*instruction);
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
