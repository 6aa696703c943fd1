#include "meshwright/remat/loop_tuple.h"

#include <algorithm>
#include <utility>

namespace meshwright {
namespace {

// Visits operands and control predecessors.
template <typename Visit>
void ForEachBefore(const Instruction& instruction, Visit visit) {
  for (Instruction* operand : instruction.operands) visit(operand);
  for (Instruction* before : instruction.control_predecessors) visit(before);
}

std::vector<bool> Needed(const Computation& computation) {
  std::vector<bool> needed(computation.size(), false);
  std::vector<Instruction*> stack = {computation.root()};
  for (const auto& instruction : computation.instructions()) {
    if (instruction->opcode == Opcode::kParameter ||
        !IsRematerializableWhole(*instruction)) {
      stack.push_back(instruction.get());
    }
  }
  while (!stack.empty()) {
    const Instruction* instruction = stack.back();
    stack.pop_back();
    if (needed[instruction->id]) continue;
    needed[instruction->id] = true;
    ForEachBefore(*instruction,
                  [&](Instruction* before) { stack.push_back(before); });
  }
  return needed;
}

}  // namespace

bool IsElementOf(const Instruction& instruction, const Instruction* tuple) {
  return instruction.opcode == Opcode::kGetTupleElement &&
         instruction.operands[0] == tuple;
}

void PutInOrder(Computation& computation) {
  const std::vector<bool> needed = Needed(computation);
  std::vector<bool> is_placed(computation.size(), false);
  std::vector<Instruction*> order;
  std::vector<Instruction*> stack;
  for (const auto& instruction : computation.instructions()) {
    if (!needed[instruction->id]) continue;
    stack = {instruction.get()};
    while (!stack.empty()) {
      Instruction* const top = stack.back();
      bool is_ready = true;
      ForEachBefore(*top, [&](Instruction* before) {
        if (is_placed[before->id]) return;
        stack.push_back(before);
        is_ready = false;
      });
      if (!is_ready) continue;
      stack.pop_back();
      if (is_placed[top->id]) continue;
      is_placed[top->id] = true;
      order.push_back(top);
    }
  }
  computation.Keep(order);
}

LoopTuple::LoopTuple(Computation& around, Instruction& loop, RematNames& names)
    : around_(around),
      loop_(loop),
      body_(*loop.called[0]),
      names_(names),
      parameter_(body_.Parameters()[0]),
      start_(loop.operands[0]->operands),
      next_(body_.root()->operands) {}

Instruction* LoopTuple::AddElement(Computation& computation, Instruction* tuple,
                                   const Shape& shape, int64_t element) {
  Instruction* const root = computation.root();
  Instruction* made = computation.Add(Opcode::kGetTupleElement, shape, {tuple},
                                      names_.NewName(loop_.name));
  made->attributes.mutate().tuple_index = element;
  computation.set_root(root);
  return made;
}

int64_t LoopTuple::Add(Instruction* start) {
  const int64_t element = std::ssize(start_);
  start_.push_back(start);
  next_.push_back(AddElement(body_, parameter_, start->shape, element));
  return element;
}

int64_t LoopTuple::Share(Instruction* value) {
  for (size_t e = 0; e < start_.size(); ++e) {
    const int64_t element = static_cast<int64_t>(e);
    if (start_[e] == value && !dropped_.contains(element) &&
        IsElementOf(*next_[e], parameter_) &&
        next_[e]->attributes->tuple_index == element) {
      return element;
    }
  }
  return Add(value);
}

Instruction* LoopTuple::Element(int64_t element) {
  for (const auto& instruction : body_.instructions()) {
    if (IsElementOf(*instruction, parameter_) &&
        instruction->attributes->tuple_index == element) {
      return instruction.get();
    }
  }
  return AddElement(body_, parameter_, start_[element]->shape, element);
}

void LoopTuple::set_next(int64_t element, Instruction* next) {
  next_[element] = next;
}

Instruction* LoopTuple::After(int64_t element) {
  for (const auto& instruction : around_.instructions()) {
    if (IsElementOf(*instruction, &loop_) &&
        instruction->attributes->tuple_index == element) {
      return instruction.get();
    }
  }
  return AddElement(around_, &loop_, start_[element]->shape, element);
}

void LoopTuple::Renumber(Computation& computation, const Instruction* tuple,
                         const std::vector<int64_t>& numbers) {
  for (const auto& instruction : computation.instructions()) {
    if (!IsElementOf(*instruction, tuple)) continue;
    int64_t& index = instruction->attributes.mutate().tuple_index;
    // Those of dropped elements are removed when the computation is sorted.
    index = numbers[index];
  }
}

void LoopTuple::Finish() {
  std::vector<int64_t> numbers(start_.size(), 0);
  std::vector<Instruction*> start;
  std::vector<Instruction*> next;
  std::vector<Shape> shapes;
  for (size_t e = 0; e < start_.size(); ++e) {
    if (dropped_.contains(static_cast<int64_t>(e))) continue;
    numbers[e] = std::ssize(start);
    start.push_back(start_[e]);
    next.push_back(next_[e]);
    shapes.push_back(e < loop_.shape.tuple_shapes.size()
                         ? loop_.shape.tuple_shapes[e]
                         : start_[e]->shape);
  }
  const Instruction& before = *loop_.operands[0];
  Instruction* const root = around_.root();
  Instruction* made =
      around_.Add(Opcode::kTuple, Shape::Tuple(shapes), std::move(start),
                  names_.NewName(before.name));
  made->metadata = before.metadata;
  around_.set_root(root);
  loop_.operands[0] = made;
  loop_.shape = made->shape;
  body_.root()->operands = std::move(next);
  body_.root()->shape = made->shape;
  parameter_->shape = made->shape;
  Computation& condition = *loop_.called[1];
  Instruction* const tested = condition.Parameters()[0];
  tested->shape = made->shape;
  Renumber(body_, parameter_, numbers);
  Renumber(condition, tested, numbers);
  Renumber(around_, &loop_, numbers);
  PutInOrder(body_);
  PutInOrder(condition);
}

}  // namespace meshwright
