// slice, pad, concatenate and reverse, against running them whole.
#include <gtest/gtest.h>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "tests/rules/lowered.h"
#include "tests/rules/rule_oracle.h"

namespace meshwright {
namespace {

OneOp Slice(const std::string& operand, std::vector<SliceDimension> slices) {
  return {.opcode = Opcode::kSlice,
          .operands = {operand},
          .set = [slices](Attributes& a) { a.slice = slices; }};
}

OneOp Pad(const std::string& operand, std::vector<PaddingDimension> padding) {
  const std::string type = operand.substr(0, operand.find('['));
  return {.opcode = Opcode::kPad,
          .operands = {operand, type + "[]"},
          .set = [padding](Attributes& a) {
            a.padding.emplace().dimensions = padding;
          }};
}

OneOp Concatenate(const std::vector<std::string>& operands, int64_t dimension) {
  return {.opcode = Opcode::kConcatenate,
          .operands = operands,
          .set = [dimension](Attributes& a) { a.dimensions = {dimension}; }};
}

OneOp Reverse(const std::string& operand, std::vector<int64_t> dimensions) {
  return {.opcode = Opcode::kReverse,
          .operands = {operand},
          .set = [dimensions](Attributes& a) { a.dimensions = dimensions; }};
}

TEST(SliceRules, Slice) {
  // Parts, digits, and stretches that are neither.
  EXPECT_EQ(CheckRule(Slice("f32[4,12]", {{0, 4, 1}, {4, 8, 1}}), kQuick),
            absl::OkStatus());
  EXPECT_EQ(CheckRule(Slice("f32[12,3]", {{1, 12, 2}, {0, 3, 1}}), kQuick),
            absl::OkStatus());
  EXPECT_EQ(CheckRule(Slice("f32[5,16]", {{0, 5, 1}, {3, 14, 1}}), kQuick),
            absl::OkStatus());
  EXPECT_EQ(CheckRule(Slice("f32[24,7]", {{1, 21, 3}, {1, 4, 1}}), kQuick),
            absl::OkStatus());
  EXPECT_EQ(CheckRule(Slice("f32[10]", {{9, 10, 1}}), kQuick),
            absl::OkStatus());
  EXPECT_EQ(CheckRule(Slice("pred[4,9]", {{1, 3, 1}, {2, 9, 3}}), kQuick),
            absl::OkStatus());
  EXPECT_EQ(CheckRule(Slice("bf16[6,12]", {{2, 4, 1}, {6, 12, 1}}), kQuick),
            absl::OkStatus());
}

TEST(SliceRules, Pad) {
  EXPECT_EQ(CheckRule(Pad("f32[4,6]", {{0, 0, 0}, {6, 12, 0}}), kQuick),
            absl::OkStatus());
  EXPECT_EQ(CheckRule(Pad("f32[6,4]", {{1, 0, 1}, {0, 2, 2}}), kQuick),
            absl::OkStatus());
  EXPECT_EQ(CheckRule(Pad("f32[8,5]", {{1, -1, 0}, {-3, 3, 0}}), kQuick),
            absl::OkStatus());
  EXPECT_EQ(CheckRule(Pad("f32[7,4]", {{2, 3, 0}, {-1, 4, 0}}), kQuick),
            absl::OkStatus());
  EXPECT_EQ(CheckRule(Pad("f32[6,6]", {{5, 1, 0}, {-2, -1, 0}}), kQuick),
            absl::OkStatus());
  EXPECT_EQ(CheckRule(Pad("f32[5,8]", {{2, 1, 3}, {1, 2, 1}}), kQuick),
            absl::OkStatus());
  EXPECT_EQ(CheckRule(Pad("s32[8]", {{3, 2, 0}}), kQuick), absl::OkStatus());
  OneOp zero = Pad("f32[8,6]", {{3, 2, 0}, {2, -2, 0}});
  zero.constants = {{1, 0}};
  EXPECT_EQ(CheckRule(zero, kQuick), absl::OkStatus());
}

TEST(SliceRules, Concatenate) {
  EXPECT_EQ(
      CheckRule(Concatenate({"f32[4,6]", "f32[4,6]", "f32[4,6]"}, 1), kQuick),
      absl::OkStatus());
  EXPECT_EQ(CheckRule(Concatenate({"f32[4,6]", "f32[4,2]"}, 1), kQuick),
            absl::OkStatus());
  EXPECT_EQ(CheckRule(Concatenate({"f32[5,4]"}, 0), kQuick), absl::OkStatus());
  EXPECT_EQ(CheckRule(Concatenate({"s32[8,3]", "s32[8,3]"}, 0), kQuick),
            absl::OkStatus());
}

TEST(SliceRules, Reverse) {
  EXPECT_EQ(CheckRule(Reverse("f32[8,12]", {0}), kQuick), absl::OkStatus());
  EXPECT_EQ(CheckRule(Reverse("f32[7,5,3]", {0, 2}), kQuick), absl::OkStatus());
  EXPECT_EQ(CheckRule(Reverse("s32[11]", {0}), kQuick), absl::OkStatus());
}

// Factor `factor` split over all eight devices.
std::vector<std::string> Sent(const OneOp& op, int32_t factor) {
  const Mesh mesh = *Mesh::Parse("d=8");
  const BuiltOp built = Build(op);
  Strategy strategy;
  strategy.factor_axes.resize(RuleFor(*built.instruction).factors.size());
  strategy.factor_axes[factor] = mesh.AllSubAxes();
  EXPECT_EQ(CheckStrategy(op, strategy, mesh), absl::OkStatus());
  return CollectivesOf(LowerOp(op, strategy, mesh));
}

TEST(SliceRules, EqualPartsAreFree) {
  using Nothing = std::vector<std::string>;
  EXPECT_EQ(Sent(Slice("f32[768]", {{256, 512, 1}}), 0), Nothing());
  EXPECT_EQ(Sent(Slice("f32[64]", {{1, 64, 2}}), 0), Nothing());
  EXPECT_EQ(Sent(Pad("f32[256]", {{512, 0, 0}}), 0), Nothing());
  EXPECT_EQ(Sent(Pad("f32[64]", {{1, 0, 1}}), 0), Nothing());
  EXPECT_EQ(Sent(Concatenate({"f32[64]", "f32[64]"}, 0), 3), Nothing());
}

TEST(SliceRules, MovesAreOnePermute) {
  using Texts = std::vector<std::string>;
  EXPECT_EQ(Sent(Reverse("f32[64,2]", {0}), 0),
            Texts({"collective-permute f32[8,2]"}));
  EXPECT_EQ(Sent(Pad("f32[64,2]", {{1, -1, 0}, {}}), 0),
            Texts({"collective-permute f32[1,2]"}));
  EXPECT_EQ(Sent(Pad("f32[64,2]", {{-3, 3, 0}, {}}), 0),
            Texts({"collective-permute f32[3,2]"}));
}

}  // namespace
}  // namespace meshwright
