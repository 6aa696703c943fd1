#include "meshwright/cost/instruction_time.h"

#include "gtest/gtest.h"
#include "meshwright/cost/module_for_test.h"
#include "meshwright/cost/rates_for_test.h"

namespace meshwright {
namespace {

constexpr double kDotWork = 1024e-9;  // 2 * 8 * 8 * 8 operations.

TEST(InstructionSecondsTest, AreThoseOfKernelsSharedByDevices) {
  Module module("step");
  BodyForTest body(module.AddComputation("main"));
  Instruction* x = body.Parameter(F32({8, 8}));
  Instruction* dot = body.Dot(x, x);
  Instruction* twice = body.Add(Opcode::kAdd, F32({8, 8}), {dot, dot});
  Instruction* out = body.Add(Opcode::kMultiply, F32({8, 8}), {twice, twice});
  Instruction* loop = LoopForTest(
      module, body, {out}, 5,
      [&](BodyForTest& inner, const std::vector<Instruction*>& carried) {
        return std::vector<Instruction*>{inner.Dot(carried[0], carried[0])};
      });
  body.Element(loop, 1);
  module.set_entry(body.computation());
  module.Finish();
  const std::vector<double> one =
      InstructionSeconds(module, SimpleRates(0), /*is_cpu=*/true, 1);
  EXPECT_NEAR(one[dot->id], 1e-6 + kDotWork, 1e-12);
  EXPECT_EQ(one[twice->id], 0);  // With `out`.
  EXPECT_NEAR(one[out->id], 1e-6 + 512e-9, 1e-12);
  EXPECT_GT(one[loop->id], 5 * (1e-6 + kDotWork));
  const std::vector<double> two =
      InstructionSeconds(module, SimpleRates(0), /*is_cpu=*/true, 2);
  EXPECT_NEAR(two[dot->id], 1e-6 + kDotWork / 2, 1e-12);
}

TEST(InstructionSecondsTest, WhatAHostTakesLongerToStartTakesThatLong) {
  Module module("step");
  BodyForTest body(module.AddComputation("main"));
  Instruction* images = body.Parameter(F32({1, 8, 8, 1}));
  Instruction* filter = body.Parameter(F32({1, 1, 1, 1}));
  Instruction* convolution =
      body.Convolution(images, filter, F32({1, 8, 8, 1}));
  Instruction* out = body.Add(Opcode::kTanh, convolution->shape, {convolution});
  module.set_entry(body.computation());
  module.Finish();
  Rates rates = SimpleRates(0);
  rates.library_seconds.value = 1;
  const std::vector<double> seconds =
      InstructionSeconds(module, rates, /*is_cpu=*/false, 1);
  EXPECT_EQ(seconds[convolution->id], 1);
  EXPECT_LT(seconds[out->id], 0.1);
}

}  // namespace
}  // namespace meshwright
