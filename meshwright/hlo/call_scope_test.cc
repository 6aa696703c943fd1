#include "meshwright/hlo/call_scope.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "meshwright/hlo/module.h"

namespace meshwright {
namespace {

struct ScopeCase {
  std::string name;
  std::string call;
  std::string callee;     // The computation's name.
  std::string parameter;  // Its parameter's op_name.
  std::vector<std::string> own;
  std::vector<std::string> want;
};

class CallScopeTest : public testing::TestWithParam<ScopeCase> {};

TEST_P(CallScopeTest, NamesCopiesByTheirCall) {
  const ScopeCase& test = GetParam();
  const Shape shape = Shape::Array(ElementType::kF32, {4});
  Module module("step");
  Computation* callee = module.AddComputation(test.callee);
  Instruction* x = callee->AddParameter(shape, "x");
  x->metadata.op_name = test.parameter;
  for (const std::string& own : test.own) {
    callee->Add(Opcode::kNegate, shape, {x}, "n")->metadata.op_name = own;
  }
  const CallScope scope(test.call, *callee);
  for (size_t i = 0; i < test.own.size(); ++i) {
    EXPECT_EQ(scope.NameOf(test.own[i]), test.want[i]);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Table, CallScopeTest,
    testing::ValuesIn<ScopeCase>({
        {"NamesFromTheFunctionOn",
         "jit(step)/jvp(layers/2)/jit(silu)",
         "silu.3",
         "",
         {"neg", "jit(norm)", "inner/mul", ""},
         {"jit(step)/jvp(layers/2)/jit(silu)/neg",
          "jit(step)/jvp(layers/2)/jit(silu)/jit(norm)",
          "jit(step)/jvp(layers/2)/jit(silu)/inner/mul",
          "jit(step)/jvp(layers/2)/jit(silu)"}},
        {"NamesFromTheStepOnByTheFirstCall",
         "jit(step)/jit(main)/transpose(jvp(layers/2))/mlp/pjit",
         "silu_0.87",
         "jit(step)/jit(main)/transpose(jvp(layers/0))/mlp/pjit",
         {"jit(step)/jit(main)/transpose(jvp(layers/0))/mlp/jit(silu)/neg", ""},
         {"jit(step)/jit(main)/transpose(jvp(layers/2))/mlp/jit(silu)/neg",
          "jit(step)/jit(main)/transpose(jvp(layers/2))/mlp/pjit"}},
        {"TheFirstCallItself",
         "jit(step)/mlp_0/pjit",
         "silu.3",
         "jit(step)/mlp_0/pjit",
         {"jit(step)/mlp_0/jit(silu)/neg"},
         {"jit(step)/mlp_0/jit(silu)/neg"}},
        {"TheFirstScopeFromTheFunctionsName",
         "jit(step)/mlp_2/jit(silu)",
         "silu_1.30",
         "",
         {"jit(step)/mlp_0/jit(silu)/neg",
          "jit(step)/mlp_0/jit(silu)/jit(silu)/exp"},
         {"jit(step)/mlp_2/jit(silu)/neg",
          "jit(step)/mlp_2/jit(silu)/jit(silu)/exp"}},
        {"ScopesOfAnotherDepth",
         "jit(step)/encoder/layer/2/pjit",
         "norm",
         "jit(step)/embed/pjit",
         {"jit(step)/embed/jit(norm)/rsqrt"},
         {"jit(step)/encoder/layer/2/jit(norm)/rsqrt"}},
        {"WhatIsNotInTheFirstScopeStays",
         "jit(step)/a/pjit",
         "f",
         "jit(step)/b/pjit",
         {"jit(step)/c/mul"},
         {"jit(step)/c/mul"}},
        {"ACallWithoutAName",
         "",
         "silu.3",
         "",
         {"jit(step)/mlp_0/jit(silu)/neg", ""},
         {"jit(step)/mlp_0/jit(silu)/neg", ""}},
        {"ACallInNoScope", "call", "f", "", {"mul"}, {"call/mul"}},
    }),
    [](const auto& test) { return test.param.name; });

// What an instruction came from stays; one that came from nowhere came from
// the call.
TEST(CallScopeTest, SourcesStay) {
  Module module("step");
  const Computation* callee = module.AddComputation("f");
  const CallScope scope("jit(step)/jit(f)", *callee);
  const Metadata call{.op_name = "jit(step)/jit(f)",
                      .source_file = "model.py",
                      .source_line = 7};
  const Metadata own{
      .op_name = "mul", .source_file = "silu.py", .source_line = 3};
  EXPECT_EQ(scope.MetadataOf(own, call).source_file, "silu.py");
  EXPECT_EQ(scope.MetadataOf(own, call).op_name, "jit(step)/jit(f)/mul");
  EXPECT_EQ(scope.MetadataOf({}, call).source_line, 7);
}

}  // namespace
}  // namespace meshwright
