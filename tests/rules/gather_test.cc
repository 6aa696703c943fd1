// gather, against running it whole.
#include <gtest/gtest.h>

#include "absl/status/status.h"
#include "tests/rules/random_gather.h"
#include "tests/rules/rule_oracle.h"

namespace meshwright {
namespace {

TEST(GatherRules, RandomDimensionNumbers) {
  Random random(21);
  for (uint64_t round = 0; round < (IsLong() ? 24 : 10); ++round) {
    const IndexedAccess access = RandomAccess(random);
    const bool fallback = access.numbers.start_index_map.empty();
    EXPECT_EQ(CheckRule(GatherOp(access, kIndexedTypes[round % 4],
                                 kIndexTypes[round / 4 % 4]),
                        {.seed = round,
                         .count = 8,
                         .meshes = {round % 2 == 0 ? "a=2,b=2,c=2" : "a=3,b=2"},
                         .fallback = fallback}),
              absl::OkStatus());
  }
}

TEST(GatherRules, VocabularyThatDoesNotDivide) {
  OneOp op =
      GatherOp(RowAccess(50257, 2, 40), ElementType::kF32, ElementType::kS32);
  op.draws[1] = Integers(-10, 50270);
  const BuiltOp built = Build(op);
  const Rule rule = RuleFor(*built.instruction);
  Strategy strategy;
  strategy.factor_axes.resize(rule.factors.size());
  strategy.factor_axes[rule.operands[0][0][0]] = {0, 1, 2};
  EXPECT_EQ(CheckStrategy(op, strategy, *Mesh::Parse("8")), absl::OkStatus());
}

TEST(GatherRules, EmbeddingOnAllMeshes) {
  EXPECT_EQ(CheckRule(GatherOp(RowAccess(7, 6, 5), ElementType::kF32,
                               ElementType::kS32)),
            absl::OkStatus());
}

}  // namespace
}  // namespace meshwright
