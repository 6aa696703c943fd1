// fft, cholesky, triangular-solve and batch norm.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "tests/rules/lowered.h"
#include "tests/rules/rule_oracle.h"

namespace meshwright {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Solvers are large programs.
enum FftType { kForward = 0, kInverse = 1, kFromReal = 2, kToReal = 3 };

OneOp Fft(const std::string& operand, FftType type,
          const std::vector<int64_t>& lengths) {
  return {.opcode = Opcode::kFft,
          .operands = {operand},
          .set =
              [=](Attributes& attributes) {
                attributes.fft_type = type;
                attributes.fft_length = lengths;
              },
          .exact = false};
}

TEST(FftRule, BatchIsKept) {
  const OneOp op = Fft("f32[4,6,8]", kFromReal, {8});
  const Rule rule = RuleFor(*Build(op).instruction);
  EXPECT_EQ(KindOf(rule, 0, 1), FactorKind::kKept);
  EXPECT_EQ(KindOf(rule, 0, 2), FactorKind::kWhole);
  EXPECT_EQ(CheckRule(op), absl::OkStatus());
}

TEST(FftRule, OtherKinds) {
  EXPECT_EQ(CheckRule(Fft("c64[5,4,8]", kForward, {4, 8})), absl::OkStatus());
  EXPECT_EQ(CheckRule(Fft("c64[6,8]", kInverse, {8})), absl::OkStatus());
  EXPECT_EQ(CheckRule(Fft("c64[6,5]", kToReal, {8})), absl::OkStatus());
}

// Three-by-three matrices with a strong diagonal.
Draw DefiniteMatrices() {
  return [element = std::make_shared<int64_t>(0)](Random& random) {
    const bool diagonal = (*element)++ % 9 % 4 == 0;
    return Integers(diagonal ? 9 : -2, diagonal ? 12 : 2)(random);
  };
}

TEST(CholeskyRule, BatchIsKept) {
  const OneOp op{
      .opcode = Opcode::kCholesky,
      .operands = {"f32[3,4,3,3]"},
      .set = [](Attributes& attributes) { attributes.cholesky_lower = true; },
      .draws = {{0, DefiniteMatrices()}},
      .exact = false};
  EXPECT_EQ(CheckRule(op, kFew), absl::OkStatus());
}

TEST(TriangularSolveRule, RightHandSidesAreKept) {
  for (const bool left_side : {true, false}) {
    const OneOp op{
        .opcode = Opcode::kTriangularSolve,
        .operands = {"f32[4,3,3]", left_side ? "f32[4,3,6]" : "f32[4,6,3]"},
        .set =
            [=](Attributes& attributes) {
              attributes.triangular_solve = {.left_side = left_side,
                                             .lower = true,
                                             .unit_diagonal = false,
                                             .transpose_a = 1,
                                             .unknown_fields = ""};
            },
        .draws = {{0, Integers(1, 3)}},
        .exact = false};
    const Rule rule = RuleFor(*Build(op).instruction);
    EXPECT_EQ(KindOf(rule, 1, left_side ? 2 : 1), FactorKind::kKept);
    EXPECT_EQ(KindOf(rule, 1, left_side ? 1 : 2), FactorKind::kWhole);
    EXPECT_EQ(KindOf(rule, 0, 1), FactorKind::kWhole);
    EXPECT_EQ(CheckRule(op, kFew), absl::OkStatus());
  }
}

OneOp BatchNorm(Opcode opcode, const std::vector<std::string>& operands,
                int64_t feature) {
  return {.opcode = opcode,
          .operands = operands,
          .set =
              [=](Attributes& attributes) {
                attributes.epsilon = 0.125;
                attributes.feature_index = feature;
              },
          .exact = false};
}

OneOp Training(const std::string& operand, const std::string& vector,
               int64_t feature) {
  return BatchNorm(Opcode::kBatchNormTraining, {operand, vector, vector},
                   feature);
}

OneOp Grad(const std::string& operand, const std::string& vector,
           int64_t feature) {
  OneOp op = BatchNorm(Opcode::kBatchNormGrad,
                       {operand, vector, vector, vector, operand}, feature);
  op.draws[3] = Reals(0.5, 2);
  return op;
}

TEST(BatchNormRule, OneAllReduceOverTheBatch) {
  for (const OneOp& op :
       {Training("f32[8,4,6]", "f32[6]", 2), Grad("f32[8,4,6]", "f32[6]", 2)}) {
    EXPECT_THAT(CollectivesOf(op, 0, 0, 4), ElementsAre("all-reduce f32[12]"));
    EXPECT_THAT(CollectivesOf(op, 0, 2, 2), IsEmpty());
  }
}

TEST(BatchNormRule, Training) {
  EXPECT_EQ(CheckRule(Training("f32[8,4,6]", "f32[6]", 2), kFew),
            absl::OkStatus());
  // Uneven, with the features first.
  EXPECT_EQ(CheckRule(Training("f32[5,7]", "f32[5]", 0), kFew),
            absl::OkStatus());
}

TEST(BatchNormRule, Grad) {
  EXPECT_EQ(CheckRule(Grad("f32[8,4,6]", "f32[6]", 2), kFew), absl::OkStatus());
  EXPECT_EQ(CheckRule(Grad("f32[5,3,7]", "f32[3]", 1), kFew), absl::OkStatus());
}

TEST(BatchNormRule, InferenceKeepsEverything) {
  OneOp op =
      BatchNorm(Opcode::kBatchNormInference,
                {"f32[4,6,5]", "f32[6]", "f32[6]", "f32[6]", "f32[6]"}, 1);
  op.draws[4] = Reals(0.5, 2);
  for (int64_t i = 0; i < 3; ++i) {
    EXPECT_EQ(KindOf(RuleFor(*Build(op).instruction), 0, i), FactorKind::kKept);
  }
  EXPECT_EQ(CheckRule(op), absl::OkStatus());
}

}  // namespace
}  // namespace meshwright
