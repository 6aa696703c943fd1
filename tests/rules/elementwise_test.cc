// Instructions that compute each element by itself, against running them whole.
#include <gtest/gtest.h>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "tests/rules/rule_oracle.h"

namespace meshwright {
namespace {

const CheckOptions kQuickest = {.count = 5, .meshes = {"a=2,b=2"}};

// Several opcodes that take the same operands.
void CheckAlike(std::initializer_list<Opcode> opcodes,
                const std::vector<std::string>& operands, const Draw& draw,
                bool exact) {
  for (const Opcode opcode : opcodes) {
    OneOp op{.opcode = opcode, .operands = operands, .exact = exact};
    for (size_t i = 0; i < operands.size(); ++i) {
      op.draws[static_cast<int32_t>(i)] = draw;
    }
    EXPECT_EQ(CheckRule(op, kQuickest), absl::OkStatus());
  }
}

TEST(ElementwiseRules, SmoothFunctions) {
  CheckAlike({Opcode::kCbrt, Opcode::kCosine, Opcode::kErf,
              Opcode::kExponential, Opcode::kExponentialMinusOne, Opcode::kLog,
              Opcode::kLogPlusOne, Opcode::kLogistic, Opcode::kRsqrt,
              Opcode::kSine, Opcode::kSqrt, Opcode::kTan, Opcode::kTanh},
             {"f32[5,6]"}, Reals(0.1, 0.9), /*exact=*/false);
}

TEST(ElementwiseRules, ExactFloatFunctions) {
  CheckAlike({Opcode::kAbs, Opcode::kCeil, Opcode::kCopy, Opcode::kFloor,
              Opcode::kNegate, Opcode::kRoundNearestAfz,
              Opcode::kRoundNearestEven, Opcode::kSign},
             {"f32[5,6]"}, Integers(-9, 9), /*exact=*/true);
  CheckAlike({Opcode::kIsFinite}, {"f32[5,6]"}, Reals(0, 1), /*exact=*/true);
}

TEST(ElementwiseRules, PairsOfFloats) {
  CheckAlike({Opcode::kAdd, Opcode::kMaximum, Opcode::kMinimum,
              Opcode::kMultiply, Opcode::kSubtract},
             {"f32[5,6]", "f32[5,6]"}, Integers(-9, 9), /*exact=*/true);
  CheckAlike(
      {Opcode::kAtan2, Opcode::kDivide, Opcode::kPower, Opcode::kRemainder},
      {"f32[5,6]", "f32[5,6]"}, Integers(1, 5), /*exact=*/false);
}

TEST(ElementwiseRules, Integers) {
  CheckAlike({Opcode::kAbs, Opcode::kCountLeadingZeros, Opcode::kNegate,
              Opcode::kNot, Opcode::kPopcnt, Opcode::kSign},
             {"s32[5,6]"}, Integers(-9, 9), /*exact=*/true);
  CheckAlike(
      {Opcode::kAdd, Opcode::kAnd, Opcode::kDivide, Opcode::kMaximum,
       Opcode::kMinimum, Opcode::kMultiply, Opcode::kOr, Opcode::kPower,
       Opcode::kRemainder, Opcode::kShiftLeft, Opcode::kShiftRightArithmetic,
       Opcode::kShiftRightLogical, Opcode::kSubtract, Opcode::kXor},
      {"s32[5,6]", "s32[5,6]"}, Integers(1, 7), /*exact=*/true);
  CheckAlike({Opcode::kAnd, Opcode::kOr, Opcode::kXor},
             {"pred[5,6]", "pred[5,6]"}, Integers(0, 1), /*exact=*/true);
}

TEST(ElementwiseRules, NarrowAndComplexTypes) {
  for (const char* type : {"bf16", "f16", "s8", "u64", "c64"}) {
    const std::string shape = absl::StrCat(type, "[3,4]");
    CheckAlike({Opcode::kAdd, Opcode::kMultiply, Opcode::kSubtract},
               {shape, shape}, Integers(1, 7), /*exact=*/true);
  }
  CheckAlike({Opcode::kReal, Opcode::kImag, Opcode::kNegate}, {"c64[3,4]"},
             Integers(-4, 4), /*exact=*/true);
  CheckAlike({Opcode::kComplex}, {"f32[3,4]", "f32[3,4]"}, Integers(-4, 4),
             /*exact=*/true);
}

TEST(ElementwiseRules, Conversions) {
  for (const auto& [from, to] :
       std::vector<std::pair<const char*, const char*>>{{"f32", "bf16"},
                                                        {"bf16", "f32"},
                                                        {"f32", "s32"},
                                                        {"s32", "f32"},
                                                        {"pred", "f32"},
                                                        {"f32", "f64"},
                                                        {"f16", "bf16"}}) {
    EXPECT_EQ(CheckRule({.opcode = Opcode::kConvert,
                         .operands = {absl::StrCat(from, "[5,6]")},
                         .result = absl::StrCat(to, "[5,6]")},
                        kQuickest),
              absl::OkStatus());
  }
  EXPECT_EQ(CheckRule({.opcode = Opcode::kReducePrecision,
                       .operands = {"f32[5,6]"},
                       .set =
                           [](Attributes& a) {
                             a.exponent_bits = 5;
                             a.mantissa_bits = 4;
                           },
                       .draws = {{0, Reals(-3, 3)}}},
                      kQuickest),
            absl::OkStatus());
}

TEST(ElementwiseRules, ComparisonsAndChoices) {
  EXPECT_EQ(
      CheckRule({.opcode = Opcode::kCompare,
                 .operands = {"s32[5,6]", "s32[5,6]"},
                 .set = [](Attributes& a) { a.comparison_direction = "LT"; }},
                kQuickest),
      absl::OkStatus());
  for (const char* predicate : {"pred[5,6]", "pred[]"}) {
    EXPECT_EQ(CheckRule({.opcode = Opcode::kSelect,
                         .operands = {predicate, "f32[5,6]", "f32[5,6]"}},
                        kQuickest),
              absl::OkStatus());
  }
  for (const char* bound : {"f32[5,6]", "f32[]"}) {
    EXPECT_EQ(CheckRule({.opcode = Opcode::kClamp,
                         .operands = {bound, "f32[5,6]", bound},
                         .draws = {{0, Integers(-2, 0)}, {2, Integers(1, 2)}}},
                        kQuickest),
              absl::OkStatus());
  }
  EXPECT_EQ(CheckRule({.opcode = Opcode::kMap,
                       .operands = {"f32[5,6]", "f32[5,6]"},
                       .set =
                           [](Attributes& a) {
                             a.dimensions = {0, 1};
                           },
                       .called = {Combiner(Opcode::kAdd, ElementType::kF32)}},
                      kQuickest),
            absl::OkStatus());
}

TEST(ElementwiseRules, BarriersPassEveryLeaf) {
  EXPECT_EQ(CheckRule({.opcode = Opcode::kOptBarrier,
                       .operands = {"(f32[5,6], s32[4])"},
                       .result = "(f32[5,6], s32[4])"}),
            absl::OkStatus());
  EXPECT_EQ(CheckRule({.opcode = Opcode::kOptBarrier,
                       .operands = {"f32[5,6]"},
                       .result = "f32[5,6]"},
                      kQuickest),
            absl::OkStatus());
}

}  // namespace
}  // namespace meshwright
