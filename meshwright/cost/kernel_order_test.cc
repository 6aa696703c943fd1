#include "meshwright/cost/kernel_order.h"

#include "gtest/gtest.h"
#include "meshwright/cost/module_for_test.h"
#include "meshwright/cost/program_memory.h"

namespace meshwright {
namespace {

constexpr FusionStyle kWhenReady = {.runs_when_ready = true};

std::vector<const Instruction*> RootsOf(const Module& module) {
  std::vector<const Instruction*> roots;
  for (const Kernel& kernel :
       KernelsOf(*module.entry(), ModuleWork(module), kWhenReady)) {
    roots.push_back(kernel.root);
  }
  return roots;
}

// c = dot(b, w), b = dot(a, a), a and w of x.
struct Chain {
  Chain() : body(module.AddComputation("main")) {
    Instruction* x = body.Parameter(F32({8, 8}));
    a = body.Dot(x, x);
    b = body.Dot(a, a);
    w = body.Dot(x, x);
    c = body.Dot(b, w);
    body.Tuple({c});
    module.set_entry(body.computation());
  }

  std::vector<const Instruction*> Roots() {
    module.Finish();
    return RootsOf(module);
  }

  Module module = Module("m");
  BodyForTest body;
  Instruction *a, *b, *w, *c;
};

TEST(InOrderOfReadinessTest, WhatIsReadyFirstRunsFirst) {
  Chain chain;
  EXPECT_EQ(chain.Roots(), (std::vector<const Instruction*>{chain.a, chain.w,
                                                            chain.b, chain.c}));
}

TEST(InOrderOfReadinessTest, WaitsForControlPredecessors) {
  Chain chain;
  chain.w->control_predecessors = {chain.b};
  EXPECT_EQ(chain.Roots(), (std::vector<const Instruction*>{chain.a, chain.b,
                                                            chain.w, chain.c}));
}

// What only names a value has its turn, too, as what uses it then does.
TEST(InOrderOfReadinessTest, NamesTakeTurns) {
  Module module("m");
  BodyForTest body(module.AddComputation("main"));
  Instruction* x = body.Parameter(F32({8, 8}));
  Instruction* a = body.Dot(x, x);
  Instruction* flat = body.Add(Opcode::kReshape, F32({64}), {a});
  Instruction* square = body.Add(Opcode::kReshape, F32({8, 8}), {flat});
  Instruction* b = body.Dot(square, square);
  Instruction* c = body.Dot(a, a);
  Instruction* d = body.Dot(c, c);
  body.Tuple({b, d});
  module.set_entry(body.computation());
  module.Finish();
  EXPECT_EQ(RootsOf(module), (std::vector<const Instruction*>{a, c, d, b}));
}

// A value that could be made late is there from the beginning.
TEST(InOrderOfReadinessTest, ValuesAreThereForLonger) {
  const auto temporaries = [](const FusionStyle& style) {
    Module module("m");
    BodyForTest body(module.AddComputation("main"));
    Instruction* x = body.Parameter(F32({8, 8}));
    Instruction* sum = body.Dot(x, x);
    for (int i = 0; i < 4; ++i) sum = body.Dot(sum, body.Dot(x, x));
    body.Tuple({sum});
    module.set_entry(body.computation());
    module.Finish();
    return EstimateMemory(module, KernelsOf(module, ModuleWork(module), style),
                          style)
        .temporaries;
  };
  constexpr int64_t kBytesOfArray = 256;
  EXPECT_EQ(temporaries({}), 3 * kBytesOfArray);
  EXPECT_EQ(temporaries(kWhenReady), 6 * kBytesOfArray);
}

// A convolution's copy of images with channels second is made at the beginning.
TEST(InOrderOfReadinessTest, CopiesAreMadeEarly) {
  const auto temporaries = [](const FusionStyle& style) {
    Module module("m");
    BodyForTest body(module.AddComputation("main"));
    Instruction* x = body.Parameter(F32({8, 8}));
    Instruction* images = body.Parameter(F32({2, 8, 5, 5}));
    Instruction* kernel = body.Parameter(F32({1, 1, 8, 8}));
    Instruction* a = body.Dot(x, x);
    Instruction* b = body.Dot(a, a);
    Instruction* c = body.Dot(b, a);
    Instruction* made = body.Convolution(images, kernel, F32({2, 5, 5, 8}));
    made->control_predecessors = {c};
    body.Tuple({c, made});
    module.set_entry(body.computation());
    module.Finish();
    return EstimateMemory(module, KernelsOf(module, ModuleWork(module), style),
                          style)
        .temporaries;
  };
  constexpr int64_t kBytesOfArray = 256;
  constexpr int64_t kImages = 4 * 2 * 8 * 5 * 5;
  EXPECT_EQ(temporaries({}), kImages);
  EXPECT_EQ(temporaries(kWhenReady), 2 * kBytesOfArray + kImages);
}

}  // namespace
}  // namespace meshwright
