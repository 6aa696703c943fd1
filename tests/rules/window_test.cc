// reduce-window and select-and-scatter, against running them whole.
#include <gtest/gtest.h>

#include <limits>

#include "absl/status/status.h"
#include "meshwright/base/is_long_for_test.h"
#include "meshwright/hlo/window_size.h"
#include "tests/rules/lowered.h"
#include "tests/rules/random_shapes.h"
#include "tests/rules/rule_oracle.h"

namespace meshwright {
namespace {

using Windows = std::vector<WindowDimension>;

OneOp ReduceWindow(const std::string& operand, Windows windows,
                   Opcode combiner = Opcode::kAdd) {
  return {
      .opcode = Opcode::kReduceWindow,
      .operands = {operand, "f32[]"},
      .set =
          [windows](Attributes& a) { a.window.emplace().dimensions = windows; },
      .called = {Combiner(combiner, ElementType::kF32)}};
}

OneOp Running(const std::string& operand, Windows windows, Opcode combiner,
              double start) {
  OneOp op = ReduceWindow(operand, std::move(windows), combiner);
  op.constants = {{1, start}};
  return op;
}

Callee Greater(const char* direction) {
  return [direction](Module& module) {
    Computation* body = module.AddComputation("greater");
    const Shape scalar = Shape::Scalar(ElementType::kF32);
    Instruction* a = body->AddParameter(scalar, "greater_a");
    Instruction* b = body->AddParameter(scalar, "greater_b");
    body->Add(Opcode::kCompare, Shape::Scalar(ElementType::kPred), {a, b},
              "greater_root")
        ->attributes.mutate()
        .comparison_direction = direction;
    return body;
  };
}

OneOp SelectAndScatter(const std::string& operand, const std::string& source,
                       Windows windows, const char* direction = "GE") {
  // A zero in the place of what is beyond the ends would be chosen.
  const Draw draw = direction[0] == 'G' ? Integers(-9, -1) : Integers(1, 9);
  return {
      .opcode = Opcode::kSelectAndScatter,
      .operands = {operand, source, "f32[]"},
      .set =
          [windows](Attributes& a) { a.window.emplace().dimensions = windows; },
      .called = {Greater(direction), Combiner(Opcode::kAdd, ElementType::kF32)},
      .draws = {{0, draw}}};
}

const WindowDimension kNone = {};
const WindowDimension kPool = {.size = 2, .stride = 2};
const WindowDimension kSame = {
    .size = 3, .stride = 1, .padding_low = 1, .padding_high = 1};
const WindowDimension kSameStrided = {
    .size = 3, .stride = 2, .padding_low = 0, .padding_high = 1};

TEST(WindowRules, Pooling) {
  EXPECT_EQ(
      CheckRule(ReduceWindow("f32[8,3,12]", {kPool, kNone, kPool}), kQuick),
      absl::OkStatus());
  OneOp largest = ReduceWindow("f32[8,6]", {kSame, kSame}, Opcode::kMaximum);
  largest.draws = {{0, Integers(-9, -1)}, {1, Integers(-20, -10)}};
  EXPECT_EQ(CheckRule(largest, kQuick), absl::OkStatus());
  EXPECT_EQ(CheckRule(ReduceWindow("f32[7,16]", {kSame, kSameStrided}), kQuick),
            absl::OkStatus());
  EXPECT_EQ(CheckRule(ReduceWindow("f32[9,6]", {kSameStrided, kNone}), kQuick),
            absl::OkStatus());
  const WindowDimension dilated = {
      .size = 3, .padding_low = 3, .padding_high = 1, .window_dilation = 2};
  EXPECT_EQ(CheckRule(ReduceWindow("f32[8,3]", {dilated, kNone}), kQuick),
            absl::OkStatus());
}

TEST(WindowRules, RunningValues) {
  const WindowDimension forward = {.size = 8, .padding_low = 7};
  const WindowDimension backward = {.size = 7, .padding_high = 6};
  const WindowDimension uneven = {.size = 7, .padding_low = 6};
  EXPECT_EQ(
      CheckRule(Running("f32[8,3]", {forward, kNone}, Opcode::kAdd, 0), kQuick),
      absl::OkStatus());
  EXPECT_EQ(CheckRule(Running("f32[8,7]", {forward, backward}, Opcode::kMaximum,
                              -std::numeric_limits<double>::infinity()),
                      kQuick),
            absl::OkStatus());
  EXPECT_EQ(
      CheckRule(Running("f32[7]", {uneven}, Opcode::kMultiply, 1), kQuick),
      absl::OkStatus());
  EXPECT_EQ(CheckRule(Running("f32[3,7]", {kNone, backward}, Opcode::kAdd, 0),
                      kQuick),
            absl::OkStatus());
  // A start value that counts in every window.
  EXPECT_EQ(CheckRule(Running("f32[8]", {forward}, Opcode::kAdd, 1), kQuick),
            absl::OkStatus());
}

TEST(WindowRules, SelectAndScatter) {
  EXPECT_EQ(CheckRule(SelectAndScatter("f32[8,3,12]", "f32[4,3,6]",
                                       {kPool, kNone, kPool}),
                      kQuick),
            absl::OkStatus());
  EXPECT_EQ(CheckRule(SelectAndScatter("f32[8,5]", "f32[8,5]", {kSame, kSame}),
                      kQuick),
            absl::OkStatus());
  EXPECT_EQ(CheckRule(SelectAndScatter("f32[16,12]", "f32[8,12]",
                                       {kSameStrided, kSame}, "LT"),
                      kQuick),
            absl::OkStatus());
  EXPECT_EQ(CheckRule(SelectAndScatter("f32[9,4]", "f32[4,4]",
                                       {{.size = 3, .stride = 2}, kNone}),
                      kQuick),
            absl::OkStatus());
}

// Windows of any size, stride, padding and dilation on bases of any size.
WindowDimension RandomWindow(Random& random, int64_t base, bool dilated) {
  for (;;) {
    WindowDimension window = {.size = 1 + RandomBelow(random, 4),
                              .stride = 1 + RandomBelow(random, 3)};
    window.padding_low = RandomBelow(random, window.size);
    window.padding_high = RandomBelow(random, window.size);
    if (RandomBelow(random, 2) == 0) {
      window.padding_low = window.padding_high = 0;  // VALID.
    }
    if (dilated) {
      window.padding_low -= RandomBelow(random, 2);
      window.window_dilation = 1 + RandomBelow(random, 2);
      window.base_dilation = 1 + RandomBelow(random, 3);
    }
    const absl::StatusOr<int64_t> places = WindowPlaces(base, window);
    if (places.ok() && *places > 0) return window;
  }
}

constexpr int64_t kBases[] = {5, 7, 8, 9, 12, 16, 17};

TEST(WindowRules, RandomPooling) {
  Random random(5);
  for (uint64_t i = 0; i < 24; ++i) {
    const int64_t base = kBases[random() % std::size(kBases)];
    const int64_t other = kBases[random() % std::size(kBases)];
    const Windows windows = {
        RandomWindow(random, base, i % 2 == 0),
        i % 4 == 0 ? RandomWindow(random, other, false) : kNone};
    OneOp op =
        ReduceWindow(ShapeText(ElementType::kF32, {base, other}), windows,
                     i % 3 == 0 ? Opcode::kMaximum : Opcode::kAdd);
    op.draws = {{0, Integers(-9, -1)}, {1, Integers(-20, -10)}};
    const CheckOptions options = {.seed = i + 1, .count = 4};
    EXPECT_EQ(CheckRule(op, options), absl::OkStatus()) << "pooling " << i;
  }
}

TEST(WindowRules, RandomSelectAndScatter) {
  Random random(6);
  const uint64_t count = IsLong() ? 24 : 8;
  for (uint64_t i = 0; i < count; ++i) {
    const int64_t base = kBases[random() % std::size(kBases)];
    const int64_t other = kBases[random() % std::size(kBases)];
    const Windows windows = {
        RandomWindow(random, base, false),
        i % 4 == 0 ? RandomWindow(random, other, false) : kNone};
    const std::vector<int64_t> places = {*WindowPlaces(base, windows[0]),
                                         *WindowPlaces(other, windows[1])};
    const CheckOptions options = {.seed = i + 1, .count = 4};
    EXPECT_EQ(
        CheckRule(SelectAndScatter(ShapeText(ElementType::kF32, {base, other}),
                                   ShapeText(ElementType::kF32, places),
                                   windows, i % 2 == 0 ? "GE" : "LE"),
                  options),
        absl::OkStatus())
        << "select-and-scatter " << i;
  }
}

std::vector<std::string> Sent(const OneOp& op) {
  const Mesh mesh = *Mesh::Parse("d=8");
  const BuiltOp built = Build(op);
  const Rule rule = RuleFor(*built.instruction);
  Strategy strategy;
  strategy.factor_axes.resize(rule.factors.size());
  SetAxes(rule, 0, mesh.AllSubAxes(), strategy);
  EXPECT_EQ(CheckStrategy(op, strategy, mesh), absl::OkStatus());
  return CollectivesOf(LowerOp(op, strategy, mesh));
}

TEST(WindowRules, WhatIsSent) {
  using Texts = std::vector<std::string>;
  EXPECT_EQ(Sent(ReduceWindow("f32[32,3]", {kPool, kNone})), Texts());
  EXPECT_EQ(Sent(ReduceWindow("f32[32,3]", {kSameStrided, kNone})),
            Texts({"collective-permute f32[1,3]"}));
  EXPECT_EQ(
      Sent(ReduceWindow("f32[32,3]", {kSame, kNone})),
      Texts({"collective-permute f32[1,3]", "collective-permute f32[1,3]"}));
  const WindowDimension running = {.size = 64, .padding_low = 63};
  EXPECT_EQ(Sent(Running("f32[64,3]", {running, kNone}, Opcode::kAdd, 0)),
            Texts({"all-gather f32[8,3]"}));
  EXPECT_EQ(Sent(SelectAndScatter("f32[32,3]", "f32[16,3]", {kPool, kNone})),
            Texts());
  // Rows on both sides of the part, the windows that begin before it.
  EXPECT_EQ(
      Sent(SelectAndScatter("f32[32,3]", "f32[16,3]", {kSameStrided, kNone})),
      Texts({"collective-permute f32[2,3]", "collective-permute f32[1,3]",
             "collective-permute f32[1,3]"}));
  // 65 rows in parts of 9, 32 places in parts of 4: no fit, and no gather.
  const WindowDimension valid = {.size = 3, .stride = 2};
  EXPECT_EQ(Sent(ReduceWindow("f32[65,3]", {valid, kNone})),
            Texts({"collective-permute f32[7,3]"}));
}

}  // namespace
}  // namespace meshwright
