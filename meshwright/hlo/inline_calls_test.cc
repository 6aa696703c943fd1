#include "meshwright/hlo/inline_calls.h"

#include <memory>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "meshwright/hlo/verify.h"

namespace meshwright {
namespace {

TEST(InlineCalls, PutsEachCallInPlace) {
  const Shape shape = Shape::Array(ElementType::kF32, {4});
  Module module("step");
  Computation* twice = module.AddComputation("twice");
  Instruction* x = twice->AddParameter(shape, "x");
  twice->Add(Opcode::kAdd, shape, {x, x}, "sum");
  Computation* entry = module.AddComputation("main");
  Instruction* p = entry->AddParameter(shape, "p");
  Instruction* once = entry->Add(Opcode::kCall, shape, {p}, "once");
  once->called = {twice};
  Instruction* again = entry->Add(Opcode::kCall, shape, {once}, "again");
  again->called = {twice};
  module.set_entry(entry);
  module.Finish();
  EXPECT_TRUE(HasCalls(module));

  const Module inlined = InlineCalls(module);
  EXPECT_TRUE(Verify(inlined).ok());
  EXPECT_FALSE(HasCalls(inlined));
  ASSERT_EQ(inlined.computations().size(), 1);
  const Instruction* root = inlined.entry()->root();
  EXPECT_EQ(root->name, "sum.inlined.2");
  EXPECT_EQ(root->operands[0]->name, "sum");
  EXPECT_EQ(root->operands[0]->operands[1]->name, "p");
}

// A computation whose root is its parameter, and a call as the entry's root.
TEST(InlineCalls, CallsMayHandOnWhatTheyGet) {
  const Shape shape = Shape::Array(ElementType::kF32, {4});
  Module module("step");
  Computation* same = module.AddComputation("same");
  same->AddParameter(shape, "x");
  Computation* entry = module.AddComputation("main");
  Instruction* p = entry->AddParameter(shape, "p");
  entry->Add(Opcode::kCall, shape, {p}, "call")->called = {same};
  module.set_entry(entry);
  module.Finish();

  const Module inlined = InlineCalls(module);
  EXPECT_TRUE(Verify(inlined).ok());
  EXPECT_EQ(inlined.entry()->root()->name, "p");
}

// A loop in a function that is called twice, through another one: both copies
// of its body are named by their calls.
TEST(InlineCalls, CopiesAreNamedByTheirCalls) {
  const Shape shape = Shape::Array(ElementType::kF32, {4});
  const Shape verdict = Shape::Array(ElementType::kPred, {});
  Module module("step");
  Computation* body = module.AddComputation("body");
  Instruction* x = body->AddParameter(shape, "x");
  body->Add(Opcode::kAdd, shape, {x, x}, "sum")->metadata.op_name =
      "while/body/add";
  Computation* condition = module.AddComputation("condition");
  condition->AddParameter(shape, "y");
  condition->Add(Opcode::kConstant, verdict, {}, "no")
      ->attributes.mutate()
      .literal = std::make_shared<Literal>(Literal::Scalar(false));
  Computation* inner = module.AddComputation("inner");
  Instruction* z = inner->AddParameter(shape, "z");
  Instruction* loop = inner->Add(Opcode::kWhile, shape, {z}, "loop");
  loop->called = {body, condition};
  loop->metadata.op_name = "while";
  Computation* outer = module.AddComputation("outer");
  Instruction* w = outer->AddParameter(shape, "w");
  Instruction* call = outer->Add(Opcode::kCall, shape, {w}, "call");
  call->called = {inner};
  call->metadata.op_name = "jit(inner)";
  Computation* entry = module.AddComputation("main");
  Instruction* value = entry->AddParameter(shape, "p");
  for (const char* layer : {"0", "1"}) {
    value = entry->Add(Opcode::kCall, shape, {value}, layer);
    value->called = {outer};
    value->metadata.op_name = absl::StrCat("jit(step)/", layer, "/jit(outer)");
  }
  module.set_entry(entry);
  module.Finish();

  const Module inlined = InlineCalls(module);
  EXPECT_TRUE(Verify(inlined).ok());
  const Instruction* second = inlined.entry()->root();
  const Instruction* first = second->operands[0];
  EXPECT_EQ(first->metadata.op_name, "jit(step)/0/jit(outer)/jit(inner)/while");
  EXPECT_EQ(second->metadata.op_name,
            "jit(step)/1/jit(outer)/jit(inner)/while");
  EXPECT_EQ(first->called[0]->root()->metadata.op_name,
            "jit(step)/0/jit(outer)/jit(inner)/while/body/add");
  EXPECT_EQ(second->called[0]->root()->metadata.op_name,
            "jit(step)/1/jit(outer)/jit(inner)/while/body/add");
}

}  // namespace
}  // namespace meshwright
