// Hand-written loops for tests of loops and their pieces.
//
//   SmallLoops step(/*count=*/4);
//   Instruction* x = step.Parameter("x", {8});
//   Instruction* w = step.Parameter("w", {4, 8});
//   // for i: ys[i] = x; x = x * w[i]
//   const SmallLoops::Results up = step.Scan("up", x, w, Way::kUp);
//   step.Return({up.carried, up.stacked});
#ifndef MESHWRIGHT_LOOPS_SMALL_LOOP_FOR_TEST_H_
#define MESHWRIGHT_LOOPS_SMALL_LOOP_FOR_TEST_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "meshwright/hlo/literal.h"
#include "meshwright/hlo/module.h"
#include "meshwright/hlo/verify.h"

namespace meshwright {

// Which slot iteration i uses: i, count - 1 - i, i + 1 (clamped at the end).
enum class Way { kUp, kDown, kShifted };

class SmallLoops {
 public:
  explicit SmallLoops(int32_t loop_count)
      : count(loop_count),
        module("small"),
        entry(module.AddComputation("main")) {
    module.set_entry(entry);
  }

  struct Results {
    Instruction* loop;
    Instruction* carried;
    Instruction* stacked;
  };

  Instruction* Parameter(const std::string& name,
                         std::vector<int64_t> dimensions) {
    return entry->AddParameter(
        Shape::Array(ElementType::kF32, std::move(dimensions)), name);
  }

  // for i: ys[slot] = x, x = x * w[slot]. The elements: i, x, ys, w.
  Results Scan(const std::string& name, Instruction* x, Instruction* w,
               Way way) {
    Instruction* zero = Constant(entry, name + "_zero", 0);
    Instruction* nothing =
        entry->Add(Opcode::kConstant, Shape::Scalar(ElementType::kF32), {},
                   name + "_nothing");
    nothing->attributes.mutate().literal =
        std::make_shared<Literal>(Literal::Scalar(0.0f));
    Instruction* ys =
        entry->Add(Opcode::kBroadcast, w->shape, {nothing}, name + "_ys");
    Instruction* start = Tuple(entry, name + "_start", {zero, x, ys, w});
    Computation* body = Body(name, start->shape, way);
    Computation* condition = module.AddComputation(name + "_condition");
    Instruction* all =
        condition->AddParameter(start->shape, name + "_condition_all");
    Instruction* i = Element(condition, name + "_tested", all, 0);
    Instruction* limit = Constant(condition, name + "_limit", count);
    Instruction* less =
        condition->Add(Opcode::kCompare, Shape::Scalar(ElementType::kPred),
                       {i, limit}, name + "_less");
    less->attributes.mutate().comparison_direction = "LT";
    Instruction* loop = entry->Add(Opcode::kWhile, start->shape, {start}, name);
    loop->called = {body, condition};
    return {loop, Element(entry, name + "_x", loop, 1),
            Element(entry, name + "_all_ys", loop, 2)};
  }

  Instruction* Binary(Opcode opcode, const std::string& name, Instruction* a,
                      Instruction* b) {
    return entry->Add(opcode, a->shape, {a, b}, name);
  }

  void Return(const std::vector<Instruction*>& results) {
    entry->set_root(Tuple(entry, "results", results));
    module.Finish();
    EXPECT_EQ(Verify(module), absl::OkStatus());
  }

  const int32_t count;
  Module module;
  Computation* entry;

 private:
  static Instruction* Constant(Computation* computation,
                               const std::string& name, int32_t value) {
    auto literal = std::make_shared<Literal>(Literal::Scalar(value));
    Instruction* constant =
        computation->Add(Opcode::kConstant, literal->shape, {}, name);
    constant->attributes.mutate().literal = std::move(literal);
    return constant;
  }
  static Instruction* Element(Computation* computation, const std::string& name,
                              Instruction* tuple, int64_t index) {
    Instruction* element =
        computation->Add(Opcode::kGetTupleElement,
                         tuple->shape.tuple_shapes[index], {tuple}, name);
    element->attributes.mutate().tuple_index = index;
    return element;
  }
  static Instruction* Tuple(Computation* computation, const std::string& name,
                            const std::vector<Instruction*>& elements) {
    std::vector<Shape> shapes;
    for (const Instruction* element : elements) {
      shapes.push_back(element->shape);
    }
    return computation->Add(Opcode::kTuple, Shape::Tuple(shapes), elements,
                            name);
  }

  Computation* Body(const std::string& name, const Shape& carried, Way way) {
    Computation* body = module.AddComputation(name + "_body");
    const Shape integer = Shape::Scalar(ElementType::kS32);
    Instruction* all = body->AddParameter(carried, name + "_all");
    Instruction* i = Element(body, name + "_i", all, 0);
    Instruction* x = Element(body, name + "_carried", all, 1);
    Instruction* ys = Element(body, name + "_written", all, 2);
    Instruction* w = Element(body, name + "_read", all, 3);
    Instruction* one = Constant(body, name + "_one", 1);
    Instruction* next =
        body->Add(Opcode::kAdd, integer, {i, one}, name + "_next");
    Instruction* slot = way == Way::kUp ? i : next;
    if (way == Way::kDown) {
      slot = body->Add(Opcode::kSubtract, integer,
                       {Constant(body, name + "_count", count), next},
                       name + "_slot");
    }
    Instruction* zero = Constant(body, name + "_first", 0);
    const int64_t width = x->shape.dimensions[0];
    const Shape row = Shape::Array(ElementType::kF32, {1, width});
    Instruction* read =
        body->Add(Opcode::kDynamicSlice, row, {w, slot, zero}, name + "_row");
    read->attributes.mutate().dynamic_slice_sizes = {1, width};
    Instruction* weight =
        body->Add(Opcode::kReshape, x->shape, {read}, name + "_weight");
    Instruction* product =
        body->Add(Opcode::kMultiply, x->shape, {x, weight}, name + "_product");
    Instruction* update =
        body->Add(Opcode::kReshape, row, {x}, name + "_update");
    Instruction* write = body->Add(Opcode::kDynamicUpdateSlice, ys->shape,
                                   {ys, update, slot, zero}, name + "_write");
    body->set_root(Tuple(body, name + "_after", {next, product, write, w}));
    return body;
  }
};

}  // namespace meshwright

#endif  // MESHWRIGHT_LOOPS_SMALL_LOOP_FOR_TEST_H_
