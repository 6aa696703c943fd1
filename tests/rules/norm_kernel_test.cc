// Kernels as users write them (norm_kernels.h), with the rules that they would
// bring: forward, backward, with a seed, with a workspace.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "meshwright/rules/rule_text.h"
#include "tests/rules/lowered.h"
#include "tests/rules/norm_kernels.h"
#include "tests/rules/random_kernel.h"
#include "tests/rules/random_shapes.h"
#include "tests/rules/rule_oracle.h"

namespace meshwright {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

OneOp Call(const std::string& target, const std::vector<std::string>& operands,
           const std::string& result, const std::string& rule) {
  return {.opcode = Opcode::kCustomCall,
          .operands = operands,
          .set =
              [=](Attributes& attributes) {
                attributes.custom_call_target = target;
                attributes.custom_call_api_version = 4;
              },
          .frontend_attributes = {{kRuleAttribute, rule}},
          .result = result,
          .exact_sums = true};
}

OneOp Norm(int64_t a, int64_t b, int64_t n, const std::string& rule) {
  OneOp op =
      Call(kNorm,
           {absl::StrCat("f32[", a, ",", b, ",", n, "]"),
            absl::StrCat("f32[", n, "]")},
           absl::StrCat("(f32[", a, ",", b, ",", n, "], f32[", a, ",", b, "])"),
           rule);
  op.draws = {{0, Reals(-2, 2)}, {1, Reals(-1, 1)}};
  return op;
}

// dscale is summed up of small multiples of a quarter.
OneOp NormGradient(int64_t b, int64_t n, const std::string& rule) {
  const std::string rows = absl::StrCat("f32[", b, ",", n, "]");
  const std::string scale = absl::StrCat("f32[", n, "]");
  OneOp op =
      Call(kNormGradient, {rows, scale, absl::StrCat("f32[", b, "]"), rows},
           absl::StrCat("(", rows, ", ", scale, ")"), rule);
  op.draws = {{1, Reals(-1, 1)}, {2, [](Random& random) {
                                    return std::exp2(Integers(-2, 2)(random));
                                  }}};
  return op;
}

OneOp Dropout(int64_t b, int64_t n) {
  const std::string sizes = absl::StrCat("[", b, ",", n, "]");
  OneOp op = Call(kDropout, {"f32" + sizes, "s32[2]", "s32" + sizes},
                  "f32" + sizes, "b n, s, b n -> b n {need_replication: s}");
  op.draws = {{1, Integers(0, 1 << 30)}, {2, Integers(0, 1 << 20)}};
  return op;
}

OneOp SortRows(int64_t b, int64_t n, int64_t room, const std::string& rule) {
  const std::string rows = absl::StrCat("f32[", b, ",", n, "]");
  OneOp op = Call(kSortRows, {rows},
                  absl::StrCat("(", rows, ", f32[", room, "])"), rule);
  op.draws = {{0, Reals(-2, 2)}};
  op.workspaces = {1};
  return op;
}

const std::string kGradientRule =
    "b n, n, b, b n -> b n, n {reduction: b; need_replication: n}";

// Random sizes, on random meshes.
template <typename MakeOp>
void CheckRandom(uint64_t seed, const MakeOp& make) {
  Random random(seed);
  for (int i = 0; i < 12; ++i) {
    const OneOp op = make(random);
    const std::string mesh = RandomMesh(random);
    ASSERT_EQ(CheckRule(op, {.seed = random(), .count = 6, .meshes = {mesh}}),
              absl::OkStatus());
  }
}

TEST(NormKernels, Forward) {
  const std::string rule = "... n, n -> ... n, ... {need_replication: n}";
  const OneOp op = Norm(4, 6, 8, rule);
  EXPECT_EQ(KindOf(RuleFor(*Build(op).instruction), 0, 0), FactorKind::kKept);
  EXPECT_THAT(CollectivesOf(op, 0, 1, 2), IsEmpty());
  CheckRandom(1, [&](Random& random) {
    return Norm(RandomSize(random), RandomSize(random), RandomSize(random),
                rule);
  });
}

TEST(NormKernels, ForwardByShardysRule) {
  OneOp op = Norm(4, 6, 8, "");
  op.frontend_attributes = {
      {kRuleAttributes[1],
       "#sdy.op_sharding_rule<([i, j, k], [k])->([i, j, k], [i, j]) "
       "{i=4, j=6, k=8} need_replication={k}, custom>"}};
  EXPECT_EQ(KindOf(RuleFor(*Build(op).instruction), 0, 0), FactorKind::kKept);
  EXPECT_EQ(CheckRule(op), absl::OkStatus());
}

TEST(NormKernels, Backward) {
  const OneOp op = NormGradient(8, 6, kGradientRule);
  EXPECT_EQ(KindOf(RuleFor(*Build(op).instruction), 0, 0),
            FactorKind::kReduced);
  CheckRandom(2, [&](Random& random) {
    return NormGradient(RandomSize(random), RandomSize(random), kGradientRule);
  });
}

TEST(NormKernels, Seed) {
  EXPECT_THAT(CollectivesOf(Dropout(8, 6), 0, 1, 2), IsEmpty());
  CheckRandom(3, [](Random& random) {
    return Dropout(RandomSize(random), RandomSize(random));
  });
}

// As large as what a device has; what is left in it means nothing.
TEST(NormKernels, WorkspaceOfLocalSize) {
  const std::string rule = "b n -> b n, (b n) {need_replication: n}";
  const LoweredOp lowered =
      LowerOp(SortRows(8, 6, 48, rule), 0, 0, *Mesh::Parse("4"));
  EXPECT_EQ(lowered.results[1]->shape.ToString(), "f32[12]");
  CheckRandom(4, [&](Random& random) {
    const int64_t b = RandomSize(random);
    const int64_t n = RandomSize(random);
    return SortRows(b, n, b * n, rule);
  });
}

// As large on every device. Nothing reads it, so it is never summed up.
TEST(NormKernels, WorkspaceOfOneSize) {
  const std::string rule = "b n -> b n, w {reduction: b; need_replication: n}";
  const OneOp op = SortRows(8, 6, 64, rule);
  EXPECT_THAT(CollectivesOf(op, 0, 0, 4), IsEmpty());
  CheckRandom(5, [&](Random& random) {
    return SortRows(RandomSize(random), RandomSize(random), 64, rule);
  });
}

// Rows that are cut, and a gradient that is not summed up.
TEST(NormKernels, WrongRulesDiffer) {
  const auto error = [](const OneOp& op) {
    return std::string(CheckRule(op, {.meshes = {"2"}}).message());
  };
  EXPECT_THAT(error(Norm(4, 6, 8, "... n, n -> ... n, ... {reduction: n}")),
              HasSubstr("local element"));
  EXPECT_THAT(error(SortRows(8, 6, 48, "b n -> b n, (b n)")),
              HasSubstr("local element"));
  EXPECT_THAT(error(NormGradient(8, 6,
                                 "b n, n, b, b n -> b n, n "
                                 "{blocked_propagation: b; "
                                 "need_replication: n}")),
              HasSubstr("local element"));
}

}  // namespace
}  // namespace meshwright
