// A small step for tests: adds to its state, and returns the sum of the
// previous one.
#ifndef MESHWRIGHT_RUNTIME_COUNTER_STEP_FOR_TEST_H_
#define MESHWRIGHT_RUNTIME_COUNTER_STEP_FOR_TEST_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "meshwright/hlo/literal.h"
#include "meshwright/hlo/module.h"
#include "meshwright/hlo/verify.h"
#include "meshwright/state/tensor.h"

namespace meshwright {

// step(w f32[n], x f32[n]) -> (w + x, sum(w)), w aliased to output 0; the sum
// goes over `groups` of replicas too, unless there are none.
inline Module CounterForTest(int64_t n,
                             std::vector<std::vector<int64_t>> groups = {}) {
  Module module("counter");
  const Shape scalar = Shape::Scalar(ElementType::kF32);
  const Shape vector = Shape::Array(ElementType::kF32, {n});
  Computation* add = module.AddComputation("add");
  Instruction* a = add->AddParameter(scalar, "a");
  Instruction* b = add->AddParameter(scalar, "b");
  add->Add(Opcode::kAdd, scalar, {a, b}, "a_plus_b");
  Computation* entry = module.AddComputation("main");
  Instruction* w = entry->AddParameter(vector, "w");
  Instruction* x = entry->AddParameter(vector, "x");
  auto literal = std::make_shared<Literal>(Literal::Scalar(0.0f));
  Instruction* zero = entry->Add(Opcode::kConstant, literal->shape, {}, "zero");
  zero->attributes.mutate().literal = std::move(literal);
  Instruction* sum = entry->Add(Opcode::kReduce, scalar, {w, zero}, "sum");
  sum->attributes.mutate().dimensions = {0};
  sum->called = {add};
  if (!groups.empty()) {
    sum = entry->Add(Opcode::kAllReduce, scalar, {sum}, "total");
    sum->attributes.mutate().replica_groups = std::move(groups);
    sum->called = {add};
  }
  Instruction* next = entry->Add(Opcode::kAdd, vector, {w, x}, "next");
  entry->Add(Opcode::kTuple, Shape::Tuple({vector, scalar}), {next, sum},
             "results");
  module.set_entry(entry);
  module.aliases.push_back({.output_index = {0}, .parameter_number = 0});
  EXPECT_TRUE(Verify(module).ok()) << Verify(module);
  return module;
}

inline Tensor FloatsForTest(std::string name, std::vector<float> values) {
  Tensor tensor{.name = std::move(name),
                .type = ElementType::kF32,
                .dimensions = {std::ssize(values)}};
  tensor.data.resize(values.size() * sizeof(float));
  std::memcpy(tensor.data.data(), values.data(), tensor.data.size());
  return tensor;
}

}  // namespace meshwright

#endif  // MESHWRIGHT_RUNTIME_COUNTER_STEP_FOR_TEST_H_
