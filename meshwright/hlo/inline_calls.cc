#include "meshwright/hlo/inline_calls.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"

namespace meshwright {
namespace {

class Inliner {
 public:
  explicit Inliner(const Module& source)
      : source_(source), result_(source.name()) {}

  Module Run() && {
    result_.set_entry(Copy(*source_.entry()));
    result_.entry_layout = source_.entry_layout;
    result_.aliases = source_.aliases;
    result_.buffer_donors = source_.buffer_donors;
    result_.frontend_attributes = source_.frontend_attributes;
    result_.spmd_output_sharding = source_.spmd_output_sharding;
    result_.spmd_parameters_shardings = source_.spmd_parameters_shardings;
    result_.unknown_fields = source_.unknown_fields;
    result_.Finish();
    return std::move(result_);
  }

 private:
  using Values = std::vector<Instruction*>;

  Computation* Copy(const Computation& from) {
    const auto [known, is_new] = copies_.try_emplace(&from, nullptr);
    if (!is_new) return known->second;
    Computation* to =
        result_.AddComputation(Unique(from.name(), computations_));
    to->is_fusion = from.is_fusion;
    to->execution_thread = from.execution_thread;
    to->unknown_fields = from.unknown_fields;
    to->set_root(Expand(from, nullptr, *to));
    return copies_[&from] = to;
  }

  // Adds the instructions of `from`, with `arguments` for its parameters if
  // given. Returns what its root became.
  Instruction* Expand(const Computation& from, const Values* arguments,
                      Computation& to) {
    Values values(from.size());
    for (const auto& instruction : from.instructions()) {
      values[instruction->id] = Place(*instruction, values, arguments, to);
    }
    for (const auto& instruction : from.instructions()) {
      for (const Instruction* before : instruction->control_predecessors) {
        Instruction* after = values[instruction->id];
        if (after->id > values[before->id]->id) {
          after->control_predecessors.push_back(values[before->id]);
        }
      }
    }
    return values[from.root()->id];
  }

  Instruction* Place(const Instruction& instruction, const Values& values,
                     const Values* arguments, Computation& to) {
    if (instruction.opcode == Opcode::kParameter && arguments != nullptr) {
      return (*arguments)[instruction.attributes->parameter_number];
    }
    Values operands;
    for (const Instruction* operand : instruction.operands) {
      operands.push_back(values[operand->id]);
    }
    if (instruction.opcode == Opcode::kCall) {
      return Expand(*instruction.called[0], &operands, to);
    }
    std::vector<Computation*> called;
    for (const Computation* callee : instruction.called) {
      called.push_back(Copy(*callee));
    }
    Instruction* copy =
        to.Add(instruction.opcode, instruction.shape, std::move(operands),
               Unique(instruction.name, names_));
    copy->called = std::move(called);
    copy->attributes = instruction.attributes;
    copy->metadata = instruction.metadata;
    copy->sharding = instruction.sharding;
    copy->frontend_attributes = instruction.frontend_attributes;
    copy->unknown_fields = instruction.unknown_fields;
    return copy;
  }

  static std::string Unique(const std::string& name,
                            absl::flat_hash_set<std::string>& taken) {
    std::string unique = name;
    for (int again = 2; !taken.insert(unique).second; ++again) {
      unique = absl::StrCat(name, ".inlined.", again);
    }
    return unique;
  }

  const Module& source_;
  Module result_;
  absl::flat_hash_map<const Computation*, Computation*> copies_;
  absl::flat_hash_set<std::string> names_;
  absl::flat_hash_set<std::string> computations_;
};

}  // namespace

bool HasCalls(const Module& module) {
  for (const auto& computation : module.computations()) {
    for (const auto& instruction : computation->instructions()) {
      if (instruction->opcode == Opcode::kCall) return true;
    }
  }
  return false;
}

Module InlineCalls(const Module& module) { return Inliner(module).Run(); }

}  // namespace meshwright
