#include "meshwright/loops/loop_piece.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "meshwright/hlo/computation.h"

namespace meshwright {
namespace {

using Kind = LoopElement::Kind;
using Values = std::vector<Instruction*>;

bool IsPassedOn(const LoopElement& element) {
  return element.kind == Kind::kCarried ||
         (element.kind == Kind::kStacked && element.is_written);
}

// One iteration of the body, emitted into a computation.
class BodyCopy {
 public:
  // `slot`: the number of the iteration, an s32[]; null if there is only one.
  // `suffix`: of op_name metadata.
  BodyCopy(const Instruction& loop, const CountedLoop& counted, int64_t count,
           const Values& carried, Instruction* slot, std::string suffix,
           LocalBuilder& builder)
      : body_(*loop.called[0]),
        parameter_(*body_.Parameters()[0]),
        counted_(counted),
        count_(count),
        carried_(carried),
        slot_(slot),
        suffix_(std::move(suffix)),
        builder_(builder) {}

  // By element: its value after the iteration.
  Values Emit() {
    values_.resize(body_.size());
    const Instruction& root = *body_.root();
    for (const auto& instruction : body_.instructions()) {
      if (instruction.get() == &root || instruction.get() == &parameter_) {
        continue;
      }
      values_[instruction->id] = Place(*instruction);
    }
    Values after;
    for (const Instruction* operand : root.operands) {
      after.push_back(values_[operand->id]);
    }
    return after;
  }

 private:
  // The stacked array of which an instruction reads or writes a slot, or null.
  const LoopElement* StackOf(const Instruction& instruction) const {
    if (instruction.opcode != Opcode::kDynamicSlice &&
        instruction.opcode != Opcode::kDynamicUpdateSlice) {
      return nullptr;
    }
    const Instruction& array = *instruction.operands[0];
    if (array.opcode != Opcode::kGetTupleElement ||
        array.operands[0] != &parameter_) {
      return nullptr;
    }
    const LoopElement& element =
        counted_.elements[array.attributes->tuple_index];
    return element.kind == Kind::kStacked ? &element : nullptr;
  }

  Instruction* Place(const Instruction& instruction) {
    if (instruction.opcode == Opcode::kGetTupleElement &&
        instruction.operands[0] == &parameter_) {
      return carried_[instruction.attributes->tuple_index];
    }
    Values operands;
    for (const Instruction* operand : instruction.operands) {
      operands.push_back(values_[operand->id]);
    }
    const LoopElement* stack = StackOf(instruction);
    if (stack == nullptr) {
      Instruction* copy =
          builder_.Clone(instruction, instruction.shape, std::move(operands));
      copy->metadata.op_name += suffix_;
      return copy;
    }
    const bool is_read = instruction.opcode == Opcode::kDynamicSlice;
    if (slot_ == nullptr) return is_read ? operands[0] : operands[1];
    Instruction*& index = operands[(is_read ? 1 : 2) + stack->dimension];
    index = IndexOf(*stack, index->shape.element_type);
    Shape shape = is_read ? instruction.shape : operands[0]->shape;
    return builder_.Clone(instruction, std::move(shape), std::move(operands));
  }

  // The position of the slot among those of the piece.
  Instruction* IndexOf(const LoopElement& stack, ElementType type) {
    Instruction* index = slot_;
    if (stack.step < 0) {
      index = builder_.Binary(
          Opcode::kSubtract,
          builder_.Constant(ElementType::kS32, static_cast<double>(count_ - 1)),
          index);
    }
    if (stack.width != 1) {
      index =
          builder_.Binary(Opcode::kMultiply, index,
                          builder_.Constant(ElementType::kS32,
                                            static_cast<double>(stack.width)));
    }
    return type == ElementType::kS32 ? index : builder_.Convert(type, index);
  }

  const Computation& body_;
  const Instruction& parameter_;
  const CountedLoop& counted_;
  const int64_t count_;
  const Values& carried_;
  Instruction* const slot_;
  const std::string suffix_;
  LocalBuilder& builder_;
  Values values_;
};

Instruction* Less(int64_t count, const Shape& carried, LocalBuilder& builder) {
  LocalProgram& program = builder.program();
  Instruction* all = builder.computation()->AddParameter(
      carried, program.UniqueName("carried"));
  return builder.Compare(
      "LT", builder.GetTupleElement(all, 0),
      builder.Constant(ElementType::kS32, static_cast<double>(count)));
}

}  // namespace

std::vector<Instruction*> EmitLoopPiece(const Instruction& loop,
                                        const CountedLoop& counted,
                                        int64_t begin, int64_t end,
                                        const Values& given,
                                        LocalBuilder& builder) {
  const int64_t count = end - begin;
  const std::string suffix = absl::StrCat("[", begin, ":", end, "]");
  const size_t size = counted.elements.size();
  Values start = given;
  for (size_t e = 0; e < size; ++e) {
    if (counted.elements[e].kind != Kind::kKnown) continue;
    start[e] = builder.Constant(
        loop.shape.tuple_shapes[e].element_type,
        static_cast<double>(counted.elements[e].values[begin]));
  }
  Values after(size);
  if (count == 1) {
    const Values values =
        BodyCopy(loop, counted, count, start, nullptr, suffix, builder).Emit();
    for (size_t e = 0; e < size; ++e) {
      if (IsPassedOn(counted.elements[e])) after[e] = values[e];
    }
    return after;
  }
  Values all = {builder.Constant(ElementType::kS32, 0)};
  all.insert(all.end(), start.begin(), start.end());
  Instruction* tuple = builder.Tuple(all);

  LocalProgram& program = builder.program();
  Computation* body =
      program.module.AddComputation(program.UniqueName(loop.called[0]->name()));
  LocalBuilder inside(&program, body);
  Instruction* parameter =
      body->AddParameter(tuple->shape, program.UniqueName("carried"));
  Instruction* slot = inside.GetTupleElement(parameter, 0);
  Values carried;
  for (size_t e = 0; e < size; ++e) {
    carried.push_back(
        inside.GetTupleElement(parameter, static_cast<int64_t>(e) + 1));
  }
  Values next =
      BodyCopy(loop, counted, count, carried, slot, "", inside).Emit();
  next.insert(
      next.begin(),
      inside.Binary(Opcode::kAdd, slot, inside.Constant(ElementType::kS32, 1)));
  body->set_root(inside.Tuple(std::move(next)));

  Computation* condition =
      program.module.AddComputation(program.UniqueName(loop.called[1]->name()));
  LocalBuilder test(&program, condition);
  condition->set_root(Less(count, tuple->shape, test));

  builder.set_source(&loop);
  Instruction* piece = builder.Add(Opcode::kWhile, tuple->shape, {tuple});
  builder.set_source(nullptr);
  piece->metadata.op_name += suffix;
  piece->called = {body, condition};
  for (size_t e = 0; e < size; ++e) {
    if (IsPassedOn(counted.elements[e])) {
      after[e] = builder.GetTupleElement(piece, static_cast<int64_t>(e) + 1);
    }
  }
  return after;
}

}  // namespace meshwright
