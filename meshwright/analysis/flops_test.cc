#include "meshwright/analysis/flops.h"

#include <random>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/analysis/testdata_for_test.h"
#include "meshwright/hlo/shapes_for_test.h"

namespace meshwright {
namespace {

// One computation under construction.
class FlopsTest : public ::testing::Test {
 protected:
  FlopsTest() { Restart("main"); }

  void Restart(std::string name) {
    computation_ = module_.AddComputation(std::move(name));
    module_.set_entry(computation_);
  }

  Instruction* Input(std::vector<int64_t> dimensions) {
    return computation_->AddParameter(F32(std::move(dimensions)), "p");
  }

  Instruction* Add(Opcode opcode, std::vector<int64_t> dimensions,
                   std::vector<Instruction*> operands) {
    return computation_->Add(opcode, F32(std::move(dimensions)),
                             std::move(operands), "i");
  }

  // [.., m, k] x [.., k, n], with the leading dimensions as batch.
  Instruction* Dot(std::vector<int64_t> batch, int64_t m, int64_t k,
                   int64_t n) {
    std::vector<int64_t> lhs = batch, rhs = batch, result = batch;
    lhs.insert(lhs.end(), {m, k});
    rhs.insert(rhs.end(), {k, n});
    result.insert(result.end(), {m, n});
    Instruction* dot = Add(Opcode::kDot, result, {Input(lhs), Input(rhs)});
    DotDimensionNumbers& numbers = dot->attributes.mutate().dot.emplace();
    const int64_t rank = static_cast<int64_t>(batch.size());
    for (int64_t i = 0; i < rank; ++i) {
      numbers.lhs_batch.push_back(i);
      numbers.rhs_batch.push_back(i);
    }
    numbers.lhs_contracting = {rank + 1};
    numbers.rhs_contracting = {rank};
    return dot;
  }

  // NHWC x HWIO with one spatial dimension.
  Instruction* Convolution(std::vector<int64_t> input,
                           std::vector<int64_t> kernel,
                           std::vector<int64_t> output,
                           const WindowDimension& window) {
    Instruction* convolution =
        Add(Opcode::kConvolution, output, {Input(input), Input(kernel)});
    Attributes& attributes = convolution->attributes.mutate();
    attributes.convolution = ConvolutionDimensionNumbers{
        .input_feature = 2,
        .input_spatial = {1},
        .kernel_input_feature = 1,
        .kernel_output_feature = 2,
        .kernel_spatial = {0},
        .output_feature = 2,
        .output_spatial = {1},
        .unknown_fields = "",
    };
    attributes.window.emplace().dimensions = {window};
    return convolution;
  }

  Work Total() { return ModuleWork(module_).total(); }

  Module module_{"m"};
  Computation* computation_ = nullptr;
};

TEST_F(FlopsTest, Dot) {
  Dot({}, 8, 4, 16);
  EXPECT_EQ(Total(), (Work{1024, 0, 896}));
}

TEST_F(FlopsTest, BatchedDot) {
  Dot({3, 2}, 8, 4, 16);
  EXPECT_EQ(Total().flops, 6 * 1024);
}

TEST_F(FlopsTest, DotWithAScaleForEachBlock) {
  Instruction* call = Add(Opcode::kCustomCall, {2, 8, 4},
                          {Input({2, 8, 32}), Input({2, 4, 32}),
                           Input({2, 8, 4}), Input({2, 4, 4})});
  call->attributes.mutate().custom_call_target = "__op$block_scaled_dot";
  EXPECT_EQ(Total().flops, 2.0 * 2 * 8 * 4 * 32);
  EXPECT_TRUE(IsContraction(*call));
}

TEST_F(FlopsTest, ConvolutionCountsTapsOnTheInput) {
  WindowDimension window;
  window.size = 3;
  Convolution({2, 10, 4}, {3, 4, 5}, {2, 8, 5}, window);
  EXPECT_EQ(Total().flops, 2 * 2 * 8 * 5 * 4 * 3);
}

TEST_F(FlopsTest, ConvolutionLeavesOutPadding) {
  WindowDimension window;
  window.size = 3;
  window.padding_low = window.padding_high = 1;
  Convolution({2, 10, 4}, {3, 4, 5}, {2, 10, 5}, window);
  EXPECT_EQ(Total().flops, 2 * 2 * 5 * 4 * (10 * 3 - 2));
}

TEST_F(FlopsTest, StridedConvolutionAndItsInputGradientCostTheSame) {
  WindowDimension forward;
  forward.size = 2;
  forward.stride = 2;
  Convolution({1, 10, 1}, {2, 1, 1}, {1, 5, 1}, forward);
  EXPECT_EQ(Total().flops, 2 * 10);

  Restart("gradient");
  WindowDimension backward;
  backward.size = 2;
  backward.base_dilation = 2;
  backward.padding_low = backward.padding_high = 1;
  Convolution({1, 5, 1}, {2, 1, 1}, {1, 10, 1}, backward);
  EXPECT_EQ(Total().flops, 2 * 10);
}

// Against looking at every output and tap.
TEST_F(FlopsTest, ConvolutionWindowsByBruteForce) {
  std::mt19937 random(3);
  const auto pick = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  for (int trial = 0; trial < 500; ++trial) {
    const int64_t input = pick(1, 12), output = pick(1, 12);
    WindowDimension window;
    window.size = pick(1, 8);
    window.stride = pick(1, 4);
    window.padding_low = pick(-3, 6);
    window.window_dilation = pick(1, 4);
    window.base_dilation = pick(1, 4);
    int64_t taps = 0;
    for (int64_t o = 0; o < output; ++o) {
      for (int64_t t = 0; t < window.size; ++t) {
        const int64_t at =
            o * window.stride + t * window.window_dilation - window.padding_low;
        taps += at >= 0 && at % window.base_dilation == 0 &&
                at / window.base_dilation < input;
      }
    }
    Restart("main");
    Convolution({1, input, 1}, {window.size, 1, 1}, {1, output, 1}, window);
    EXPECT_EQ(Total().flops, 2 * taps) << trial;
  }
}

TEST_F(FlopsTest, LongConvolutionsAreExactToo) {
  WindowDimension window;
  window.size = 5;
  window.padding_low = window.padding_high = 2;
  const int64_t n = int64_t{1} << 30;
  Convolution({1, n, 1}, {5, 1, 1}, {1, n, 1}, window);
  EXPECT_EQ(Total().flops, 2.0 * static_cast<double>(5 * n - 6));
}

TEST_F(FlopsTest, GroupedConvolution) {
  WindowDimension window;
  window.size = 1;
  // 4 groups of 2 features: the kernel sees 2.
  Instruction* convolution =
      Convolution({1, 10, 8}, {1, 2, 16}, {1, 10, 16}, window);
  convolution->attributes.mutate().feature_group_count = 4;
  EXPECT_EQ(Total().flops, 2 * 10 * 16 * 2);
}

TEST_F(FlopsTest, ElementwiseReduceAndMovement) {
  Instruction* x = Input({4, 8});
  Add(Opcode::kAdd, {4, 8}, {x, x});
  EXPECT_EQ(Total(), (Work{32, 0, 3 * 128}));
  Instruction* tanh = Add(Opcode::kTanh, {4, 8}, {x});
  EXPECT_EQ(Total(), (Work{32, 32, 5 * 128}));
  Instruction* zero = Add(Opcode::kConstant, {}, {});
  Add(Opcode::kReduce, {4}, {tanh, zero});
  EXPECT_EQ(Total(), (Work{64, 32, 6 * 128 + 4 + 16}));
  Add(Opcode::kTranspose, {8, 4}, {x});
  EXPECT_EQ(Total().flops, 64);
}

// Compilers make running sums of pieces; other windows they sum up one by one.
TEST_F(FlopsTest, RunningSumsTakeFewSteps) {
  const auto flops = [&](int64_t size, int64_t padding) {
    Restart("main");
    Instruction* x = Input({1000});
    Instruction* zero = Add(Opcode::kConstant, {}, {});
    Instruction* sum = Add(Opcode::kReduceWindow, {1000}, {x, zero});
    WindowDimension window;
    window.size = size;
    window.padding_low = padding;
    sum->attributes.mutate().window = Window{.dimensions = {window}};
    return Total().flops;
  };
  EXPECT_EQ(flops(1000, 999), 17 * 1000);
  EXPECT_EQ(flops(100, 99), 100 * 1000);
}

TEST_F(FlopsTest, SlicesCountWhatTheyTouch) {
  Instruction* x = Input({1000, 8});
  Instruction* update = Input({1, 8});
  Instruction* i = Add(Opcode::kConstant, {}, {});
  Add(Opcode::kDynamicSlice, {1, 8}, {x, i, i});
  EXPECT_EQ(Total().bytes, 64);
  Add(Opcode::kDynamicUpdateSlice, {1000, 8}, {x, update, i, i});
  EXPECT_EQ(Total().bytes, 128);
}

TEST_F(FlopsTest, CallsBranchesAndLoops) {
  Restart("small");
  Dot({}, 2, 2, 2);
  Computation* small = computation_;
  Restart("large");
  Dot({}, 4, 4, 4);
  Computation* large = computation_;
  Restart("main");
  Add(Opcode::kCall, {4, 4}, {})->called = {large};
  EXPECT_EQ(Total().flops, 128);
  Add(Opcode::kConditional, {4, 4}, {})->called = {small, large};
  EXPECT_EQ(Total().flops, 256);
  Instruction* loop = Add(Opcode::kWhile, {4, 4}, {});
  loop->called = {large, small};
  EXPECT_EQ(Total().flops, 256 + 128 + 16);
  EXPECT_EQ(ModuleWork(module_).unknown_loops(), 1);
  loop->attributes.mutate().backend_config =
      R"({"known_trip_count":{"n":"10"}})";
  EXPECT_EQ(Total().flops, 256 + 10 * (128 + 16));
  EXPECT_EQ(ModuleWork(module_).unknown_loops(), 0);
}

TEST_F(FlopsTest, NestedLoopsDoNotOverflow) {
  Dot({}, 4, 4, 4);
  for (int depth = 0; depth < 40; ++depth) {
    Computation* body = computation_;
    Restart("loop");
    Instruction* loop = Add(Opcode::kWhile, {4, 4}, {});
    loop->called = {body, body};
    loop->attributes.mutate().backend_config =
        R"({"known_trip_count":{"n":"9000000000000000000"}})";
  }
  EXPECT_GT(Total().flops, 1e300);
  Computation* body = computation_;
  Restart("never");
  Instruction* loop = Add(Opcode::kWhile, {4, 4}, {});
  loop->called = {body, body};
  loop->attributes.mutate().backend_config =
      R"({"known_trip_count":{"n":"0"}})";
  EXPECT_EQ(Total().flops, 0);
}

// Contractions of a GPT's training step on hidden states: each with the
// gradients of both operands, but for the first layer's input.
TEST_F(FlopsTest, GptFormula) {
  for (int64_t b : {24, 32}) {
    Restart("main");
    const int64_t s = 1024, h = 4096, layers = 2, heads = 32, d = h / heads;
    const auto linear = [&](int64_t in, int64_t out, bool input_gradient) {
      Dot({}, b * s, in, out);
      Dot({}, in, b * s, out);
      if (input_gradient) Dot({}, b * s, out, in);
    };
    for (int64_t layer = 0; layer < layers; ++layer) {
      linear(h, 3 * h, layer > 0);
      for (int i = 0; i < 3; ++i) {
        Dot({b, heads}, s, d, s);
        Dot({b, heads}, s, s, d);
      }
      linear(h, h, true);
      linear(h, 4 * h, true);
      linear(4 * h, h, true);
    }
    const double expected = static_cast<double>(
        (72 * layers - 6) * b * s * h * h + 12 * layers * b * s * s * h);
    EXPECT_EQ(Total().flops, expected);
    EXPECT_EQ(expected, b == 24 ? 59373627899904.0 : 79164837199872.0);
  }
}

double ContractionFlops(const Module& module) {
  const ModuleWork work(module);
  double flops = 0;
  for (const auto& instruction : module.entry()->instructions()) {
    if (instruction->opcode != Opcode::kDot) continue;
    flops += work.Of(*instruction).flops;
  }
  return flops;
}

TEST(GptTest, RealStepFollowsTheFormula) {
  for (const std::string version : kJaxVersions) {
    const Module module = ReadTestModule("gpt." + version);
    const int64_t b = 2, s = 5, h = 8, layers = 4, vocab = 11;
    // Here the embeddings want a gradient too, and there is an output layer.
    EXPECT_EQ(ContractionFlops(module), 72 * layers * b * s * h * h +
                                            12 * layers * b * s * s * h +
                                            6 * b * s * h * vocab);
    const Work scanned =
        ModuleWork(ReadTestModule("gpt_scanned." + version)).total();
    EXPECT_NEAR(scanned.flops / ModuleWork(module).total().flops, 1, 0.02);
  }
}

// A kernel with a body for twice its rows, too: that for its own counts.
TEST_F(FlopsTest, KernelsDoWhatTheirBodyDoes) {
  Restart("of_8");
  Dot({}, 8, 16, 4);
  Computation* twice = computation_;
  Restart("of_4");
  Dot({}, 4, 16, 4);
  Computation* body = computation_;
  Restart("main");
  Instruction* kernel =
      Add(Opcode::kCustomCall, {4, 4}, {Input({4, 16}), Input({16, 4})});
  kernel->attributes.mutate().custom_call_target = "product";
  EXPECT_EQ(ModuleWork(module_).total().flops, 0);  // Nobody knows.
  kernel->called = {twice, body};
  kernel->frontend_attributes = {{"mw.kernel", "product"}};
  EXPECT_EQ(ModuleWork(module_).total().flops, 2 * 4 * 16 * 4);
}

// In place of what the body does, and of nothing for a call without one.
TEST_F(FlopsTest, RecordedOperationsCount) {
  Restart("body");
  Dot({}, 4, 16, 4);
  Computation* body = computation_;
  Restart("main");
  Instruction* kernel =
      Add(Opcode::kCustomCall, {4, 4}, {Input({4, 16}), Input({16, 4})});
  kernel->attributes.mutate().custom_call_target = "product";
  kernel->frontend_attributes = {{"mw.flops", "1e6"}};
  EXPECT_EQ(Total(), (Work{1e6, 0, 4 * (64 + 64 + 16)}));
  EXPECT_TRUE(IsContraction(*kernel));
  kernel->called = {body};
  kernel->frontend_attributes["mw.kernel"] = "product";
  EXPECT_EQ(ModuleWork(module_).total().flops, 1e6);
}

}  // namespace
}  // namespace meshwright
