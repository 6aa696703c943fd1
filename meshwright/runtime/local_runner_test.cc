#include "meshwright/runtime/local_runner.h"

#include <cstring>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/engine/plugin.h"
#include "meshwright/hlo/verify.h"

namespace meshwright {
namespace {

using testing::HasSubstr;

// step(w f32[2], x f32[2]) -> (w + x, sum(w)), w aliased to output 0.
Module Counter() {
  Module module("counter");
  const Shape scalar = Shape::Scalar(ElementType::kF32);
  const Shape vector = Shape::Array(ElementType::kF32, {2});
  Computation* add = module.AddComputation("add");
  Instruction* a = add->AddParameter(scalar, "a");
  Instruction* b = add->AddParameter(scalar, "b");
  add->Add(Opcode::kAdd, scalar, {a, b}, "a_plus_b");
  Computation* entry = module.AddComputation("main");
  Instruction* w = entry->AddParameter(vector, "w");
  Instruction* x = entry->AddParameter(vector, "x");
  Instruction* zero = entry->Add(Opcode::kConstant, scalar, {}, "zero");
  auto literal = std::make_shared<Literal>(Literal::Scalar(0.0f));
  zero->shape = literal->shape;
  zero->attributes.mutate().literal = std::move(literal);
  Instruction* sum = entry->Add(Opcode::kReduce, scalar, {w, zero}, "sum");
  sum->attributes.mutate().dimensions = {0};
  sum->called = {add};
  Instruction* next = entry->Add(Opcode::kAdd, vector, {w, x}, "next");
  entry->Add(Opcode::kTuple, Shape::Tuple({vector, scalar}), {next, sum},
             "results");
  module.set_entry(entry);
  module.aliases.push_back({.output_index = {0}, .parameter_number = 0});
  return module;
}

Tensor Floats(std::string name, std::vector<float> values) {
  Tensor tensor{.name = std::move(name),
                .type = ElementType::kF32,
                .dimensions = {std::ssize(values)}};
  tensor.data.resize(values.size() * sizeof(float));
  std::memcpy(tensor.data.data(), values.data(), tensor.data.size());
  return tensor;
}

class LocalRunnerTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto file = FindPlugin("cpu");
    ASSERT_TRUE(file.ok()) << file.status();
    const auto plugin = Plugin::Load(*file);
    ASSERT_TRUE(plugin.ok()) << plugin.status();
    client_ = (*plugin)->CreateClient({}).value();
    ASSERT_TRUE(Verify(module_).ok()) << Verify(module_);
    runner_ = MakeLocalRunner(module_, client_.get()).value();
  }

  const Module module_ = Counter();
  std::unique_ptr<Client> client_;
  std::unique_ptr<JobRunner> runner_;
};

TEST_F(LocalRunnerTest, StateFeedsTheNextStep) {
  ASSERT_TRUE(runner_->Set({Floats("w", {1, 2}), Floats("x", {10, 20})}).ok());
  for (const double want : {3.0, 33.0, 63.0}) {
    const auto step = runner_->Step();
    ASSERT_TRUE(step.ok()) << step.status();
    EXPECT_EQ(step->loss, want);
    EXPECT_GT(step->seconds, 0);
  }
  const auto state = runner_->ReadState();
  ASSERT_TRUE(state.ok());
  ASSERT_EQ(state->size(), 1u);
  EXPECT_EQ((*state)[0], Floats("w", {31, 62}));
}

TEST_F(LocalRunnerTest, DataChangesBetweenSteps) {
  ASSERT_TRUE(runner_->Set({Floats("w", {0, 0}), Floats("x", {1, 0})}).ok());
  ASSERT_TRUE(runner_->Step().ok());
  ASSERT_TRUE(runner_->Set({Floats("x", {0, 100})}).ok());
  EXPECT_EQ(runner_->Step()->loss, 1);
  EXPECT_EQ(runner_->Step()->loss, 101);
}

TEST_F(LocalRunnerTest, SyntheticInputsDependOnTheSeedAlone) {
  ASSERT_TRUE(runner_->FillSynthetic(1).ok());
  const double first = *runner_->Step()->loss;
  ASSERT_TRUE(runner_->FillSynthetic(2).ok());
  EXPECT_NE(*runner_->Step()->loss, first);
  ASSERT_TRUE(runner_->FillSynthetic(1).ok());
  EXPECT_EQ(*runner_->Step()->loss, first);
}

TEST_F(LocalRunnerTest, MistakesAreNamed) {
  const auto no_value = runner_->Step().status();
  EXPECT_EQ(no_value.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(no_value.message()), HasSubstr("\"w\" has no value"));
  const auto unknown = runner_->Set({Floats("v", {1, 2})});
  EXPECT_THAT(std::string(unknown.message()), HasSubstr("no parameter \"v\""));
  const auto misfit = runner_->Set({Floats("w", {1, 2, 3})});
  EXPECT_EQ(misfit.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(misfit.message()), HasSubstr("f32[3]"));
}

}  // namespace
}  // namespace meshwright
