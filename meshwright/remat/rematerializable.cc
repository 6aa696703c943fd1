#include "meshwright/remat/rematerializable.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "meshwright/hlo/kernel_calls.h"
#include "meshwright/hlo/opcode_traits.h"
#include "meshwright/remat/remat_policy.h"
#include "meshwright/rules/island.h"
#include "meshwright/rules/recorded_flops.h"
#include "meshwright/rules/rule_table.h"

namespace meshwright {
namespace {

template <typename Test>
bool AnyIn(const Computation& computation, Test test) {
  return std::ranges::any_of(computation.instructions(),
                             [&](const auto& inner) { return test(*inner); });
}

template <typename Test>
bool AnyCalled(const Instruction& instruction, Test test) {
  return std::ranges::any_of(
      instruction.called,
      [&](const Computation* called) { return AnyIn(*called, test); });
}

}  // namespace

double ElementsOf(const Shape& shape) {
  double count = 0;
  for (const Shape* leaf : Leaves(shape)) {
    if (leaf->IsArray()) count += static_cast<double>(ElementCount(*leaf));
  }
  return count;
}

bool IsRematerializable(const Instruction& instruction) {
  if (!instruction.control_predecessors.empty() ||
      instruction.attributes->custom_call_has_side_effect) {
    return false;
  }
  const OpcodeEntry& entry = EntryFor(instruction.opcode);
  switch (entry.structure) {
    case Structure::kTuple:
    case Structure::kGetTupleElement:
      return true;
    case Structure::kNone:
      return entry.factors != nullptr && !entry.stays_apart;
    default:
      return false;
  }
}

bool IsRematerializableWhole(const Instruction& instruction) {
  if (instruction.opcode == Opcode::kParameter) return true;
  if (instruction.opcode == Opcode::kOptBarrier) {
    return instruction.control_predecessors.empty();
  }
  if (!IsLoopOrBranch(instruction.opcode)) {
    return IsRematerializable(instruction);
  }
  return instruction.control_predecessors.empty() &&
         !AnyCalled(instruction, [](const Instruction& inner) {
           return !IsRematerializableWhole(inner);
         });
}

bool IsExpensiveToRematerialize(const Instruction& instruction,
                                const ModuleWork& work) {
  const auto is_expensive = [&](const Instruction& inner) {
    return IsExpensiveToRematerialize(inner, work);
  };
  const Computation* body = KernelBody(instruction);
  if (body != nullptr && !RecordedFlops(instruction).has_value()) {
    return AnyIn(*body, is_expensive);
  }
  if (IsLoopOrBranch(instruction.opcode) || IsIsland(instruction)) {
    return AnyCalled(instruction, is_expensive);
  }
  return IsContraction(instruction) &&
         work.Of(instruction).flops >=
             kRematPolicy.expensive_contraction * ElementsOf(instruction.shape);
}

RematNames::RematNames(const Module& module) {
  for (const auto& computation : module.computations()) {
    names_.insert(computation->name());
    for (const auto& instruction : computation->instructions()) {
      names_.insert(instruction->name);
    }
  }
}

std::string RematNames::NewName(const std::string& like) {
  std::string name = absl::StrCat(like, ".again");
  for (int again = 2; !names_.insert(name).second; ++again) {
    name = absl::StrCat(like, ".again.", again);
  }
  return name;
}

Instruction* AddCopy(Computation& computation, const Instruction& like,
                     std::vector<Instruction*> operands, RematNames& names) {
  Instruction* const root = computation.root();
  Instruction* copy = computation.Add(
      like.opcode, like.shape, std::move(operands), names.NewName(like.name));
  copy->called = like.called;
  copy->attributes = like.attributes;
  copy->metadata = like.metadata;
  copy->sharding = like.sharding;
  copy->frontend_attributes = like.frontend_attributes;
  copy->unknown_fields = like.unknown_fields;
  computation.set_root(root);
  return copy;
}

}  // namespace meshwright
