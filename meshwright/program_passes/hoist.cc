#include "meshwright/program_passes/hoist.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "meshwright/program/local_builder.h"
#include "meshwright/program_passes/reorder.h"
#include "meshwright/rules/rule_table.h"

namespace meshwright {
namespace {

bool IsElementOf(const Instruction& instruction, const Instruction* tuple) {
  return instruction.opcode == Opcode::kGetTupleElement &&
         instruction.operands[0] == tuple;
}

// The body's loop-invariant instructions, by id.
std::vector<bool> Invariant(const Computation& body) {
  const Instruction* const carry = body.Parameters()[0];
  std::vector<bool> invariant(body.size(), false);
  for (const auto& instruction : body.instructions()) {
    if (IsElementOf(*instruction, carry)) {
      invariant[instruction->id] =
          body.root()->operands[instruction->attributes->tuple_index] ==
          instruction.get();
      continue;
    }
    const OpcodeEntry& entry = EntryFor(instruction->opcode);
    bool same = entry.structure == Structure::kNone && !entry.stays_apart;
    for (const Instruction* operand : instruction->operands) {
      same = same && invariant[operand->id];
    }
    invariant[instruction->id] = same;
  }
  return invariant;
}

// Hoists what is possible from one loop to the surrounding computation.
class Hoister {
 public:
  Hoister(LocalProgram& program, Computation& outside, Instruction& loop)
      : program_(program),
        outside_(outside),
        builder_(&program, &outside),
        loop_(loop),
        body_(*loop.called[0]) {}

  // Whether anything was hoisted; `outside` and the loop's computations then
  // need Reorder.
  bool Run() {
    if (!loop_.shape.IsTuple() || body_.root()->opcode != Opcode::kTuple ||
        !IsTakenApart()) {
      return false;
    }
    const std::vector<bool> invariant = Invariant(body_);
    std::vector<Instruction*> moved;
    for (const auto& instruction : body_.instructions()) {
      const auto note = program_.collectives.find(instruction.get());
      if (invariant[instruction->id] && note != program_.collectives.end() &&
          note->second.use == 0) {
        moved.push_back(instruction.get());
      }
    }
    if (moved.empty()) return false;
    Instruction* const root = outside_.root();
    for (Instruction* instruction : moved) CarryToo(instruction);
    // The initial values are a single tuple again.
    Instruction* const start = loop_.operands[0];
    std::vector<Instruction*> elements;
    for (int64_t i = 0; i < first_new_; ++i) elements.push_back(Start(i));
    for (Instruction* instruction : moved) {
      elements.push_back(outer_.at(instruction));
    }
    loop_.operands[0] = builder_.Tuple(std::move(elements));
    loop_.shape = start->shape;
    for (const Instruction* instruction : moved) {
      loop_.shape.tuple_shapes.push_back(instruction->shape);
    }
    for (const Computation* called : loop_.called) {
      called->Parameters()[0]->shape = loop_.shape;
    }
    body_.root()->shape = loop_.shape;
    outside_.set_root(root);
    return true;
  }

 private:
  // Whether the loop's result is used element by element only.
  bool IsTakenApart() const {
    if (outside_.root() == &loop_) return false;
    for (const auto& user : outside_.instructions()) {
      for (const Instruction* operand : user->operands) {
        if (operand == &loop_ && !IsElementOf(*user, &loop_)) return false;
      }
    }
    return true;
  }

  // The value, before the loop, that corresponds to `inner` in the body.
  Instruction* Outer(const Instruction* inner) {
    if (const auto done = outer_.find(inner); done != outer_.end()) {
      return done->second;
    }
    Instruction* copy = nullptr;
    if (IsElementOf(*inner, body_.Parameters()[0])) {
      copy = Start(inner->attributes->tuple_index);
    } else {
      std::vector<Instruction*> operands;
      for (const Instruction* operand : inner->operands) {
        operands.push_back(Outer(operand));
      }
      copy = outside_.Add(inner->opcode, inner->shape, std::move(operands),
                          program_.UniqueName(inner->name));
      copy->called = inner->called;
      copy->attributes = inner->attributes;
      copy->metadata = inner->metadata;
      if (const auto note = program_.collectives.find(inner);
          note != program_.collectives.end()) {
        const CollectiveNote kept = note->second;
        program_.collectives[copy] = kept;
      }
    }
    return outer_[inner] = copy;
  }

  Instruction* Start(int64_t index) {
    Instruction* const start = loop_.operands[0];
    if (start->opcode == Opcode::kTuple) return start->operands[index];
    return builder_.GetTupleElement(start, index);
  }

  // Replaces an instruction in the body by another loop-carried element.
  void CarryToo(Instruction* instruction) {
    Outer(instruction);
    program_.collectives.erase(instruction);
    instruction->opcode = Opcode::kGetTupleElement;
    instruction->operands = {body_.Parameters()[0]};
    instruction->called.clear();
    instruction->attributes.reset();
    instruction->attributes.mutate().tuple_index =
        static_cast<int64_t>(body_.root()->operands.size());
    body_.root()->operands.push_back(instruction);
  }

  LocalProgram& program_;
  Computation& outside_;
  LocalBuilder builder_;
  Instruction& loop_;
  Computation& body_;
  const int64_t first_new_ =
      static_cast<int64_t>(loop_.shape.tuple_shapes.size());
  absl::flat_hash_map<const Instruction*, Instruction*> outer_;
};

// Inner loops first, so that what was hoisted out of one may be hoisted out of
// the next.
void Hoist(LocalProgram& program, Computation& computation) {
  bool changed = false;
  const int32_t size = computation.size();
  for (int32_t id = 0; id < size; ++id) {
    Instruction& instruction = *computation.instruction(id);
    for (Computation* called : instruction.called) Hoist(program, *called);
    if (StructureOf(instruction) == Structure::kWhile) {
      changed |= Hoister(program, computation, instruction).Run();
    }
  }
  if (changed) Reorder(computation);
}

}  // namespace

void HoistCollectives(LocalProgram& program) {
  Hoist(program, *program.module.entry());
}

}  // namespace meshwright
