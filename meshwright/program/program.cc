#include "meshwright/program/program.h"

#include "absl/strings/str_cat.h"
#include "meshwright/base/check.h"

namespace meshwright {

Opcode CombinerOpcode(Reduction reduction) {
  switch (reduction) {
    case Reduction::kSum:
      return Opcode::kAdd;
    case Reduction::kProduct:
      return Opcode::kMultiply;
    case Reduction::kMax:
      return Opcode::kMaximum;
    case Reduction::kMin:
      return Opcode::kMinimum;
    case Reduction::kAnd:
      return Opcode::kAnd;
    case Reduction::kOr:
      return Opcode::kOr;
  }
  MW_CHECK(false) << "unknown reduction";
}

std::string LocalProgram::UniqueName(const std::string& stem) {
  int64_t& next = names_[stem];
  std::string name = next == 0 ? stem : absl::StrCat(stem, ".", next);
  ++next;
  // A stem may itself look like a numbered name.
  if (name != stem && names_.contains(name)) return UniqueName(stem);
  if (name != stem) names_[name] = 1;
  return name;
}

Computation* LocalProgram::Combiner(Reduction reduction, ElementType type) {
  Computation*& combiner = combiners_[{reduction, type}];
  if (combiner == nullptr) {
    const Opcode opcode = CombinerOpcode(reduction);
    combiner = module.AddComputation(
        UniqueName(absl::StrCat(Name(opcode), "_", Name(type))));
    const Shape scalar = Shape::Scalar(type);
    Instruction* a = combiner->AddParameter(scalar, UniqueName("a"));
    Instruction* b = combiner->AddParameter(scalar, UniqueName("b"));
    combiner->Add(opcode, scalar, {a, b}, UniqueName("combined"));
  }
  return combiner;
}

Computation* LocalProgram::Copy(const Computation& computation) {
  if (const auto found = copies_.find(&computation); found != copies_.end()) {
    return found->second;
  }
  for (const auto& instruction : computation.instructions()) {
    for (const Computation* called : instruction->called) Copy(*called);
  }
  Computation* copy = module.AddComputation(UniqueName(computation.name()));
  for (const auto& from : computation.instructions()) {
    std::vector<Instruction*> operands;
    operands.reserve(from->operands.size());
    for (const Instruction* operand : from->operands) {
      operands.push_back(copy->instruction(operand->id));
    }
    Instruction* to =
        from->opcode == Opcode::kParameter
            ? copy->AddParameter(from->shape, UniqueName(from->name))
            : copy->Add(from->opcode, from->shape, std::move(operands),
                        UniqueName(from->name));
    to->attributes = from->attributes;
    to->metadata = from->metadata;
    to->frontend_attributes = from->frontend_attributes;
    to->unknown_fields = from->unknown_fields;
    for (const Computation* called : from->called) {
      to->called.push_back(copies_.at(called));
    }
  }
  copy->set_root(copy->instruction(computation.root()->id));
  copies_[&computation] = copy;
  return copy;
}

const std::vector<std::vector<int64_t>>& LocalProgram::Groups(
    const AxisList& axes) {
  const auto found = groups_.find(axes);
  if (found != groups_.end()) return found->second;
  return groups_[axes] = mesh.Groups(axes);
}

}  // namespace meshwright
