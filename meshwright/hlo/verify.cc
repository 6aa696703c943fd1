#include "meshwright/hlo/verify.h"

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/escaping.h"
#include "meshwright/base/annotate.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/hlo/infer_instruction.h"
#include "meshwright/hlo/shape_checks.h"
#include "meshwright/hlo/verify_rules.h"

namespace meshwright {
namespace {

// A name as part of a one-line message.
std::string Quoted(const std::string& name) {
  return name.empty() ? "\"\"" : absl::Utf8SafeCEscape(name.substr(0, 200));
}

absl::Status CheckShape(const Shape& shape) {
  if (shape.rank() > kMaxRank) {
    return Bad("invalid shape: more than ", kMaxRank, " dimensions");
  }
  for (const Shape& element : shape.tuple_shapes) {
    MW_RETURN_IF_ERROR(CheckShape(element));
  }
  return absl::OkStatus();
}

class Verifier {
 public:
  explicit Verifier(const Module& module) : module_(module) {}

  absl::Status Run();

 private:
  absl::Status CheckComputation(const Computation& computation);
  absl::Status CheckInstruction(const Computation& computation, int32_t id);
  absl::Status CheckPlace(const Computation& computation, int32_t id);
  absl::Status CheckMeaning(const Instruction& instruction);
  absl::Status CheckCallees(const Instruction& instruction);
  absl::Status CheckModule();

  const Module& module_;
  absl::flat_hash_map<const Computation*, Signature> signatures_;
  absl::flat_hash_set<absl::string_view> computation_names_;
  absl::flat_hash_set<absl::string_view> instruction_names_;
  std::vector<const Signature*> callees_;
  ShapeClasses classes_;
  CollectiveChecker collectives_;
};

bool Owns(const Computation& computation, const Instruction* instruction) {
  return instruction != nullptr && instruction->id >= 0 &&
         instruction->id < computation.size() &&
         computation.instruction(instruction->id) == instruction;
}

// Control edges may go against the order of the list; if so, look for a cycle.
absl::Status CheckAcyclic(const Computation& computation) {
  bool backward = false;
  for (const auto& instruction : computation.instructions()) {
    for (const Instruction* before : instruction->control_predecessors) {
      backward = backward || before->id >= instruction->id;
    }
  }
  if (!backward) return absl::OkStatus();
  std::vector<int64_t> waiting(computation.size());
  std::vector<std::vector<int32_t>> after(computation.size());
  std::vector<int32_t> ready;
  for (const auto& instruction : computation.instructions()) {
    for (const auto* list :
         {&instruction->operands, &instruction->control_predecessors}) {
      for (const Instruction* before : *list) {
        after[before->id].push_back(instruction->id);
        ++waiting[instruction->id];
      }
    }
    if (waiting[instruction->id] == 0) ready.push_back(instruction->id);
  }
  for (size_t i = 0; i < ready.size(); ++i) {
    for (const int32_t id : after[ready[i]]) {
      if (--waiting[id] == 0) ready.push_back(id);
    }
  }
  if (std::ssize(ready) == computation.size()) return absl::OkStatus();
  return Bad("control predecessors form a cycle");
}

// Checks that the instruction is at the index of its id, after its operands.
absl::Status Verifier::CheckPlace(const Computation& computation, int32_t id) {
  const Instruction& instruction = *computation.instruction(id);
  if (instruction.id != id) {
    return Bad("wrong id; expected ", id, ", got ", instruction.id);
  }
  if (instruction.name.empty()) return Bad("the instruction has no name");
  if (!instruction_names_.insert(instruction.name).second) {
    return Bad("the name is used twice in the module");
  }
  for (size_t i = 0; i < instruction.operands.size(); ++i) {
    const Instruction* operand = instruction.operands[i];
    if (!Owns(computation, operand) || operand->id >= id) {
      return Bad("operand ", i,
                 " is not an earlier instruction of the same computation");
    }
  }
  for (const Instruction* before : instruction.control_predecessors) {
    if (!Owns(computation, before)) {
      return Bad("a control predecessor is not in the same computation");
    }
  }
  return absl::OkStatus();
}

absl::Status Verifier::CheckCallees(const Instruction& instruction) {
  callees_.clear();
  for (const Computation* callee : instruction.called) {
    const auto found = signatures_.find(callee);
    if (found == signatures_.end()) {
      return Bad("a called computation does not come before its caller in the ",
                 "module");
    }
    callees_.push_back(&found->second);
  }
  return absl::OkStatus();
}

// Checks that the operands, attributes and shape fit the opcode.
absl::Status Verifier::CheckMeaning(const Instruction& instruction) {
  MW_RETURN_IF_ERROR(CheckShape(instruction.shape));
  std::string why;
  if (!IsValid(instruction.shape, &why)) return Bad("invalid shape: ", why);
  // Before the shape is inferred, since the rules read the callees' roots.
  if (!instruction.called.empty()) {
    MW_RETURN_IF_ERROR(CheckCallees(instruction));
  }
  MW_ASSIGN_OR_RETURN(const Inferred inferred, InferInstruction(instruction));
  if (!inferred.Matches(instruction.shape)) {
    return Bad("wrong shape; expected ", inferred.ToString(), ", got ",
               Describe(instruction.shape));
  }
  if (!instruction.called.empty()) {
    MW_RETURN_IF_ERROR(CheckCalls(instruction, callees_, classes_));
  }
  if (instruction.opcode == Opcode::kConstant) {
    MW_RETURN_IF_ERROR(CheckConstant(instruction));
  }
  if (instruction.attributes.has_value()) {
    MW_RETURN_IF_ERROR(collectives_.Check(instruction));
    MW_RETURN_IF_ERROR(CheckCustomCall(instruction));
  }
  if (instruction.sharding.has_value()) {
    MW_RETURN_IF_ERROR(CheckSharding(*instruction.sharding, instruction.shape));
  }
  return absl::OkStatus();
}

absl::Status Verifier::CheckInstruction(const Computation& computation,
                                        int32_t id) {
  absl::Status status = CheckPlace(computation, id);
  const Instruction& instruction = *computation.instruction(id);
  if (status.ok()) status = CheckMeaning(instruction);
  if (status.ok()) return status;
  return Annotate(
      status,
      absl::StrCat(Quoted(computation.name()), "/", Quoted(instruction.name),
                   " (", Quoted(std::string(instruction.opcode_name())), ")"));
}

absl::Status Verifier::CheckComputation(const Computation& computation) {
  if (computation.name().empty()) return Bad("a computation has no name");
  const std::string& name = computation.name();
  if (!computation_names_.insert(name).second) {
    return Bad(Quoted(name), ": two computations have this name");
  }
  for (int32_t id = 0; id < computation.size(); ++id) {
    MW_RETURN_IF_ERROR(CheckInstruction(computation, id));
  }
  absl::StatusOr<Signature> signature = SignatureOf(computation);
  absl::Status status = signature.status();
  if (status.ok() && !Owns(computation, signature->root)) {
    status = Bad("the root is not in the computation");
  }
  if (status.ok()) status = CheckAcyclic(computation);
  if (!status.ok()) return Annotate(status, Quoted(name));
  signatures_.emplace(&computation, *std::move(signature));
  return absl::OkStatus();
}

absl::Status Verifier::CheckModule() {
  const auto entry = signatures_.find(module_.entry());
  if (entry == signatures_.end()) return Bad("the entry is not in the module");
  MW_RETURN_IF_ERROR(CheckEntryLayout(module_, entry->second));
  return CheckAliases(module_, entry->second);
}

absl::Status Verifier::Run() {
  if (module_.name().empty()) return Bad("the module has no name");
  if (module_.entry() == nullptr) {
    return Bad("module ", Quoted(module_.name()), ": no entry computation");
  }
  instruction_names_.reserve(module_.instruction_count());
  signatures_.reserve(module_.computations().size());
  for (const auto& computation : module_.computations()) {
    MW_RETURN_IF_ERROR(CheckComputation(*computation));
  }
  const absl::Status status = CheckModule();
  if (status.ok()) return status;
  return Annotate(status, absl::StrCat("module ", Quoted(module_.name())));
}

}  // namespace

absl::Status Verify(const Module& module) { return Verifier(module).Run(); }

}  // namespace meshwright
