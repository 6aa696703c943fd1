// Hand-written computations for tests of cutting modules.
#ifndef MESHWRIGHT_ANALYSIS_SMALL_STEP_FOR_TEST_H_
#define MESHWRIGHT_ANALYSIS_SMALL_STEP_FOR_TEST_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "meshwright/hlo/literal.h"
#include "meshwright/hlo/module.h"
#include "meshwright/hlo/verify.h"

namespace meshwright {

// Adds instructions on f32 vectors by name.
class SmallStep {
 public:
  SmallStep() : module("small"), entry(module.AddComputation("main")) {
    module.set_entry(entry);
  }

  Instruction* Parameter(const std::string& name, int64_t size) {
    return entry->AddParameter(Vector(size), name);
  }
  Instruction* Scalar(const std::string& name) {
    return entry->AddParameter(Shape::Scalar(ElementType::kF32), name);
  }
  Instruction* One(const std::string& name) {
    auto literal = std::make_shared<Literal>(Literal::Scalar(1.0f));
    Instruction* one = entry->Add(Opcode::kConstant, literal->shape, {}, name);
    one->attributes.mutate().literal = std::move(literal);
    return one;
  }
  Instruction* Unary(Opcode opcode, const std::string& name, Instruction* a) {
    return entry->Add(opcode, a->shape, {a}, name);
  }
  Instruction* Binary(Opcode opcode, const std::string& name, Instruction* a,
                      Instruction* b) {
    return entry->Add(opcode, a->shape, {a, b}, name);
  }
  Instruction* Broadcast(const std::string& name, Instruction* scalar,
                         int64_t size) {
    return entry->Add(Opcode::kBroadcast, Vector(size), {scalar}, name);
  }
  // The sum of a vector.
  Instruction* Sum(const std::string& name, Instruction* a) {
    const Shape scalar = Shape::Scalar(ElementType::kF32);
    if (add_ == nullptr) {
      add_ = module.AddComputation("add");
      Instruction* x = add_->AddParameter(scalar, "left");
      Instruction* y = add_->AddParameter(scalar, "right");
      add_->Add(Opcode::kAdd, scalar, {x, y}, "left_plus_right");
      zero_ = One("start");
    }
    Instruction* sum = entry->Add(Opcode::kReduce, scalar, {a, zero_}, name);
    sum->attributes.mutate().dimensions = {0};
    sum->called = {add_};
    return sum;
  }
  void Return(const std::vector<Instruction*>& results) {
    std::vector<Shape> shapes;
    for (const Instruction* result : results) shapes.push_back(result->shape);
    entry->set_root(
        entry->Add(Opcode::kTuple, Shape::Tuple(shapes), results, "results"));
    module.Finish();
    EXPECT_EQ(Verify(module), absl::OkStatus());
  }

  Module module;
  Computation* entry;

 private:
  static Shape Vector(int64_t size) {
    return Shape::Array(ElementType::kF32, {size});
  }

  Computation* add_ = nullptr;
  Instruction* zero_ = nullptr;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_ANALYSIS_SMALL_STEP_FOR_TEST_H_
