// Builds small modules by hand.
#ifndef MESHWRIGHT_COST_MODULE_FOR_TEST_H_
#define MESHWRIGHT_COST_MODULE_FOR_TEST_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "meshwright/hlo/literal.h"
#include "meshwright/hlo/module.h"
#include "meshwright/hlo/shapes_for_test.h"

namespace meshwright {

class BodyForTest {
 public:
  explicit BodyForTest(Computation* computation) : computation_(computation) {}

  Computation* computation() { return computation_; }
  Instruction* Parameter(Shape shape) {
    return computation_->AddParameter(std::move(shape), Name());
  }
  Instruction* Add(Opcode opcode, Shape shape,
                   std::vector<Instruction*> operands) {
    return computation_->Add(opcode, std::move(shape), std::move(operands),
                             Name());
  }
  Instruction* Constant(Literal value) {
    Instruction* constant = Add(Opcode::kConstant, value.shape, {});
    constant->attributes.mutate().literal =
        std::make_shared<const Literal>(std::move(value));
    return constant;
  }
  Instruction* Broadcast(Instruction* operand, Shape shape,
                         std::vector<int64_t> dimensions) {
    Instruction* made = Add(Opcode::kBroadcast, std::move(shape), {operand});
    made->attributes.mutate().dimensions = std::move(dimensions);
    return made;
  }
  // Of two square matrices.
  Instruction* Dot(Instruction* a, Instruction* b) {
    Instruction* dot = Add(Opcode::kDot, a->shape, {a, b});
    dot->attributes.mutate().dot =
        DotDimensionNumbers{.lhs_contracting = {1}, .rhs_contracting = {0}};
    return dot;
  }
  // Of images with channels second and a 1x1 kernel; the result has channels
  // last.
  Instruction* Convolution(Instruction* images, Instruction* kernel,
                           Shape shape) {
    Instruction* made =
        Add(Opcode::kConvolution, std::move(shape), {images, kernel});
    Attributes& attributes = made->attributes.mutate();
    attributes.window = Window{.dimensions = {{}, {}}};
    attributes.convolution =
        ConvolutionDimensionNumbers{.input_batch = 0,
                                    .input_feature = 1,
                                    .input_spatial = {2, 3},
                                    .kernel_input_feature = 2,
                                    .kernel_output_feature = 3,
                                    .kernel_spatial = {0, 1},
                                    .output_batch = 0,
                                    .output_feature = 3,
                                    .output_spatial = {1, 2}};
    return made;
  }
  // Along the last dimension, with `adder`.
  Instruction* Reduce(Instruction* operand, Computation* adder) {
    Shape shape = operand->shape;
    shape.dimensions.pop_back();
    Instruction* zero = Constant(Literal::Scalar(0.0f));
    Instruction* sum = Add(Opcode::kReduce, shape, {operand, zero});
    sum->called = {adder};
    sum->attributes.mutate().dimensions = {operand->shape.rank() - 1};
    return sum;
  }
  Instruction* AllReduce(Instruction* operand, Computation* adder,
                         std::vector<std::vector<int64_t>> groups) {
    Instruction* made = Add(Opcode::kAllReduce, operand->shape, {operand});
    made->called = {adder};
    made->attributes.mutate().replica_groups = std::move(groups);
    return made;
  }
  Instruction* Element(Instruction* tuple, int64_t index) {
    Instruction* made = Add(Opcode::kGetTupleElement,
                            tuple->shape.tuple_shapes[index], {tuple});
    made->attributes.mutate().tuple_index = index;
    return made;
  }
  Instruction* Tuple(std::vector<Instruction*> elements) {
    std::vector<Shape> shapes;
    for (const Instruction* element : elements) {
      shapes.push_back(element->shape);
    }
    return Add(Opcode::kTuple, Shape::Tuple(std::move(shapes)),
               std::move(elements));
  }

 private:
  std::string Name() const {
    return absl::StrCat(computation_->name(), ".", computation_->size());
  }

  Computation* computation_;
};

inline Computation* AdderForTest(Module& module) {
  BodyForTest adder(module.AddComputation("adder"));
  const Shape scalar = Shape::Scalar(ElementType::kF32);
  adder.Add(Opcode::kAdd, scalar,
            {adder.Parameter(scalar), adder.Parameter(scalar)});
  return adder.computation();
}

// A loop with `trips` iterations; `turn` maps the loop-carried values besides
// the counter to their next values.
template <typename Turn>
Instruction* LoopForTest(Module& module, BodyForTest& body,
                         std::vector<Instruction*> start, int32_t trips,
                         Turn turn) {
  const Shape integer = Shape::Scalar(ElementType::kS32);
  start.insert(start.begin(), body.Constant(Literal::Scalar(int32_t{0})));
  Instruction* first = body.Tuple(start);
  BodyForTest condition(module.AddComputation("condition"));
  {
    Instruction* in = condition.Parameter(first->shape);
    Instruction* less = condition.Add(
        Opcode::kCompare, Shape::Scalar(ElementType::kPred),
        {condition.Element(in, 0), condition.Constant(Literal::Scalar(trips))});
    less->attributes.mutate().comparison_direction = "LT";
  }
  BodyForTest inner(module.AddComputation("inner"));
  Instruction* in = inner.Parameter(first->shape);
  std::vector<Instruction*> carried;
  for (size_t i = 1; i < start.size(); ++i) {
    carried.push_back(inner.Element(in, static_cast<int64_t>(i)));
  }
  std::vector<Instruction*> next = turn(inner, carried);
  next.insert(next.begin(),
              inner.Add(Opcode::kAdd, integer,
                        {inner.Element(in, 0),
                         inner.Constant(Literal::Scalar(int32_t{1}))}));
  inner.Tuple(next);
  Instruction* loop = body.Add(Opcode::kWhile, first->shape, {first});
  loop->called = {inner.computation(), condition.computation()};
  return loop;
}

}  // namespace meshwright

#endif  // MESHWRIGHT_COST_MODULE_FOR_TEST_H_
