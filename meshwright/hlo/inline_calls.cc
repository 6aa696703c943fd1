#include "meshwright/hlo/inline_calls.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "meshwright/hlo/call_scope.h"
#include "meshwright/hlo/opcode_traits.h"

namespace meshwright {
namespace {

class Inliner {
 public:
  explicit Inliner(const Module& source)
      : source_(source), result_(source.name()) {}

  Module Run() && {
    result_.set_entry(Copy(*source_.entry(), nullptr));
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

  // The call whose callee is copied.
  struct Call {
    CallScope scope;
    Metadata metadata;
  };

  // One copy for all calls, unless its instructions are named after the call.
  Computation* Copy(const Computation& from, const Call* call) {
    if (call != nullptr) return CopyAnew(from, call);
    const auto [known, is_new] = copies_.try_emplace(&from, nullptr);
    if (!is_new) return known->second;
    Computation* to = CopyAnew(from, nullptr);
    return copies_[&from] = to;
  }

  Computation* CopyAnew(const Computation& from, const Call* call) {
    Computation* to =
        result_.AddComputation(Unique(from.name(), computations_));
    to->is_fusion = from.is_fusion;
    to->execution_thread = from.execution_thread;
    to->unknown_fields = from.unknown_fields;
    to->set_root(Expand(from, nullptr, call, *to));
    return to;
  }

  // Adds the instructions of `from`, with `arguments` in place of its
  // parameters if given. Returns what corresponds to its root.
  Instruction* Expand(const Computation& from, const Values* arguments,
                      const Call* call, Computation& to) {
    Values values(from.size());
    for (const auto& instruction : from.instructions()) {
      values[instruction->id] =
          Place(*instruction, values, arguments, call, to);
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
                     const Values* arguments, const Call* call,
                     Computation& to) {
    if (instruction.opcode == Opcode::kParameter && arguments != nullptr) {
      return (*arguments)[instruction.attributes->parameter_number];
    }
    Values operands;
    for (const Instruction* operand : instruction.operands) {
      operands.push_back(values[operand->id]);
    }
    const Metadata metadata =
        call == nullptr
            ? instruction.metadata
            : call->scope.MetadataOf(instruction.metadata, call->metadata);
    if (instruction.opcode == Opcode::kCall) {
      const Computation& callee = *instruction.called[0];
      const Call inner{CallScope(metadata.op_name, callee), metadata};
      return Expand(callee, &operands, &inner, to);
    }
    if (instruction.opcode == Opcode::kFusion) {
      return Expand(*instruction.called[0], &operands, call, to);
    }
    std::vector<Computation*> called;
    for (const Computation* callee : instruction.called) {
      called.push_back(
          Copy(*callee, IsLoopOrBranch(instruction.opcode) ? call : nullptr));
    }
    Instruction* copy =
        to.Add(instruction.opcode, instruction.shape, std::move(operands),
               Unique(instruction.name, names_));
    copy->called = std::move(called);
    copy->attributes = instruction.attributes;
    copy->metadata = metadata;
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
      if (instruction->opcode == Opcode::kCall ||
          instruction->opcode == Opcode::kFusion) {
        return true;
      }
    }
  }
  return false;
}

Module InlineCalls(const Module& module) { return Inliner(module).Run(); }

}  // namespace meshwright
