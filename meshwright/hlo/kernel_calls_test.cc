#include "meshwright/hlo/kernel_calls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "meshwright/hlo/inline_calls.h"
#include "meshwright/hlo/verify.h"

namespace meshwright {
namespace {

using ::testing::HasSubstr;

Shape Rows(int64_t rows) { return Shape::Array(ElementType::kF32, {rows, 16}); }

Computation* AddBody(Module& module, const std::string& name, int64_t rows) {
  Computation* body = module.AddComputation(name);
  Instruction* x = body->AddParameter(Rows(rows), name + ".x");
  body->Add(Opcode::kNegate, Rows(rows), {x}, name + ".negate");
  return body;
}

// A call of `norm` on 8 rows, which has bodies for 4 and 2; as in a file, those
// are not called.
Module Step(const std::string& variants) {
  Module module("step");
  Computation* whole = AddBody(module, "norm.1", 8);
  Computation* entry = module.AddComputation("main");
  Instruction* p = entry->AddParameter(Rows(8), "p");
  Instruction* call = entry->Add(Opcode::kCall, Rows(8), {p}, "y");
  call->called = {whole};
  call->frontend_attributes = {{kKernelAttribute, "norm"},
                               {kVariantsAttribute, variants},
                               {"mw.rule", "b n -> b n"}};
  AddBody(module, "norm.2", 4);
  AddBody(module, "norm.3", 2);
  module.set_entry(entry);
  return module;
}

TEST(Kernels, AreOneOperationWithAllTheirBodies) {
  Module module = Step("norm.2,norm.3");
  EXPECT_FALSE(HasKernels(module));
  ASSERT_TRUE(CallsToKernels(module).ok());
  EXPECT_TRUE(Verify(module).ok());
  EXPECT_TRUE(HasKernels(module));
  EXPECT_FALSE(HasCalls(module));
  Instruction* kernel = module.entry()->root();
  EXPECT_EQ(kernel->attributes->custom_call_target, "norm");
  ASSERT_EQ(kernel->called.size(), 3);
  EXPECT_EQ(KernelBody(*kernel), kernel->called[0]);
  EXPECT_EQ(module.computations().back().get(), module.entry());

  const Module inlined = InlineCalls(module);  // It is none.
  EXPECT_EQ(inlined.entry()->root()->called.size(), 3);
  EXPECT_EQ(KernelBody(*inlined.entry()->root())->name(), "norm.1");
}

TEST(Kernels, BecomeCallsOfTheBodyThatFits) {
  Module module = Step("norm.2,norm.3");
  ASSERT_TRUE(CallsToKernels(module).ok());
  Instruction* kernel = module.entry()->root();
  kernel->shape = kernel->operands[0]->shape = Rows(2);
  EXPECT_EQ(KernelBody(*kernel)->name(), "norm.3");
  KernelsToCalls(module);
  module.Finish();
  EXPECT_TRUE(Verify(module).ok());
  EXPECT_EQ(kernel->opcode, Opcode::kCall);
  EXPECT_EQ(kernel->called[0]->name(), "norm.3");
  EXPECT_TRUE(kernel->frontend_attributes.empty());
  EXPECT_EQ(module.computations().size(), 2);  // The other bodies are gone.
}

TEST(Kernels, NoBodyFitsOtherShapes) {
  Module module = Step("norm.2");
  ASSERT_TRUE(CallsToKernels(module).ok());
  Instruction* kernel = module.entry()->root();
  EXPECT_EQ(kernel->called.size(), 2);
  kernel->operands[0]->shape = Rows(2);
  EXPECT_EQ(KernelBody(*kernel), nullptr);
  EXPECT_EQ(KernelBody(*kernel->operands[0]), nullptr);  // No kernel.
}

TEST(Kernels, BodiesThatAreNotThereAreNamed) {
  Module module = Step("norm.2,norm.9");
  EXPECT_THAT(std::string(CallsToKernels(module).message()),
              HasSubstr("y: mw.variants names norm.9, but the module has no "
                        "such computation"));
}

}  // namespace
}  // namespace meshwright
