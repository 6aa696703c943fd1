#include "meshwright/profile/loop_builder.h"

#include <algorithm>
#include <memory>

#include "absl/strings/str_cat.h"

namespace meshwright {

Instruction* LoopBuilder::Add(Opcode opcode, Shape shape,
                              std::vector<Instruction*> operands) {
  return computation_.Add(
      opcode, std::move(shape), std::move(operands),
      absl::StrCat(computation_.name(), ".", computation_.size()));
}

Instruction* LoopBuilder::Constant(Literal value) {
  Instruction* constant = Add(Opcode::kConstant, value.shape, {});
  constant->attributes.mutate().literal =
      std::make_shared<const Literal>(std::move(value));
  return constant;
}

Instruction* LoopBuilder::Element(Instruction* tuple, int64_t index) {
  Instruction* element =
      Add(Opcode::kGetTupleElement, tuple->shape.tuple_shapes[index], {tuple});
  element->attributes.mutate().tuple_index = index;
  return element;
}

Computation* LoopBuilder::Adder(ElementType type) {
  for (const auto& known : module_.computations()) {
    if (known->name() == "adder") return known.get();
  }
  Computation* adder = module_.AddComputation("adder");
  Instruction* a = adder->AddParameter(Shape::Scalar(type), "adder.a");
  Instruction* b = adder->AddParameter(Shape::Scalar(type), "adder.b");
  adder->Add(Opcode::kAdd, Shape::Scalar(type), {a, b}, "adder.sum");
  return adder;
}

LoopProgram MakeLoopOf(std::vector<Shape> arguments, double repeats,
                       const Turns& turn) {
  LoopProgram loop{Module("loop"), arguments, repeats};
  const Shape integer = Shape::Scalar(ElementType::kS32);
  std::vector<Shape> carried = {integer, integer};
  carried.insert(carried.end(), arguments.begin(), arguments.end());
  const Shape state = Shape::Tuple(carried);

  Computation* condition = loop.module.AddComputation("condition");
  {
    LoopBuilder build(loop.module, *condition);
    Instruction* in = condition->AddParameter(state, "condition.in");
    Instruction* less =
        build.Add(Opcode::kCompare, Shape::Scalar(ElementType::kPred),
                  {build.Element(in, 0), build.Element(in, 1)});
    less->attributes.mutate().comparison_direction = "LT";
  }
  Computation* body = loop.module.AddComputation("body");
  size_t changed = 0;
  {
    LoopBuilder build(loop.module, *body);
    Instruction* in = body->AddParameter(state, "body.in");
    std::vector<Instruction*> next;
    Instruction* one = build.Constant(Literal::Scalar(int32_t{1}));
    next.push_back(
        build.Add(Opcode::kAdd, integer, {build.Element(in, 0), one}));
    next.push_back(build.Element(in, 1));
    std::vector<Instruction*> values;
    for (size_t i = 0; i < arguments.size(); ++i) {
      values.push_back(build.Element(in, static_cast<int64_t>(i) + 2));
    }
    next.insert(next.end(), values.begin(), values.end());
    const std::vector<Instruction*> made = turn(build, values);
    std::copy(made.begin(), made.end(), next.begin() + 2);
    changed = made.size();
    build.Add(Opcode::kTuple, state, next);
  }
  Computation* entry = loop.module.AddComputation("main");
  LoopBuilder build(loop.module, *entry);
  std::vector<Instruction*> first = {nullptr};
  first.push_back(entry->AddParameter(integer, "turns"));
  for (size_t i = 0; i < arguments.size(); ++i) {
    first.push_back(
        entry->AddParameter(arguments[i], absl::StrCat("argument.", i)));
  }
  first[0] = build.Constant(Literal::Scalar(int32_t{0}));
  Instruction* start = build.Add(Opcode::kTuple, state, first);
  Instruction* last = build.Add(Opcode::kWhile, state, {start});
  last->called = {body, condition};
  // Values that nobody uses are not computed.
  std::vector<Instruction*> results;
  for (size_t i = 0; i < changed; ++i) {
    results.push_back(build.Element(last, static_cast<int64_t>(i) + 2));
  }
  if (changed > 1) {
    arguments.resize(changed);
    build.Add(Opcode::kTuple, Shape::Tuple(arguments), results);
  }
  loop.module.set_entry(entry);
  loop.module.Finish();
  return loop;
}

LoopProgram MakeLoop(std::vector<Shape> arguments, double repeats,
                     const Turn& turn) {
  return MakeLoopOf(
      std::move(arguments), repeats,
      [&](LoopBuilder& build, const std::vector<Instruction*>& values) {
        return std::vector<Instruction*>{turn(build, values)};
      });
}

}  // namespace meshwright
