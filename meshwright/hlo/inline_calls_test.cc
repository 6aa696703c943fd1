#include "meshwright/hlo/inline_calls.h"

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

}  // namespace
}  // namespace meshwright
