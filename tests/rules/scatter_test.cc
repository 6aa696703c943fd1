// scatter, against running it whole.
#include <gtest/gtest.h>

#include "absl/status/status.h"
#include "tests/rules/random_gather.h"
#include "tests/rules/rule_oracle.h"

namespace meshwright {
namespace {

// (a, b) -> b
Callee Overwrite(ElementType type) {
  return [type](Module& module) {
    Computation* combiner = module.AddComputation("overwrite");
    combiner->AddParameter(Shape::Scalar(type), "old");
    combiner->set_root(combiner->AddParameter(Shape::Scalar(type), "new"));
    return combiner;
  };
}

// (a, b, c, d) -> (a + c, b + d)
Computation* AddPairs(Module& module) {
  Computation* combiner = module.AddComputation("add_pairs");
  const Shape scalar = Shape::Scalar(ElementType::kF32);
  Instruction* parameters[4];
  for (int i = 0; i < 4; ++i) {
    parameters[i] = combiner->AddParameter(scalar, "x" + std::to_string(i));
  }
  Instruction* first = combiner->Add(Opcode::kAdd, scalar,
                                     {parameters[0], parameters[2]}, "first");
  Instruction* second = combiner->Add(Opcode::kAdd, scalar,
                                      {parameters[1], parameters[3]}, "second");
  combiner->Add(Opcode::kTuple, Shape::Tuple({scalar, scalar}), {first, second},
                "both");
  return combiner;
}

OneOp RandomScatter(const IndexedAccess& access, uint64_t round) {
  const ElementType index = kIndexTypes[round / 4 % 4];
  switch (round % 6) {
    case 0:
      return ScatterOp(access, ElementType::kF32, index,
                       Combiner(Opcode::kAdd, ElementType::kF32));
    case 1:
      return ScatterOp(access, ElementType::kS32, index,
                       Combiner(Opcode::kMaximum, ElementType::kS32));
    case 2:
      return ScatterOp(access, ElementType::kF32, index, AddPairs, 2);
    case 3:
      return ScatterOp(access, ElementType::kF32, index,
                       Overwrite(ElementType::kF32));
    case 4:
      return ScatterOp(access, ElementType::kPred, index,
                       Combiner(Opcode::kOr, ElementType::kPred));
    default: {
      OneOp op = ScatterOp(access, ElementType::kBF16, index,
                           Combiner(Opcode::kMultiply, ElementType::kBF16));
      op.draws[0] = op.draws[2] = Integers(-1, 1);
      return op;
    }
  }
}

TEST(ScatterRules, RandomDimensionNumbers) {
  Random random(31);
  for (uint64_t round = 0; round < (IsLong() ? 30 : 12); ++round) {
    const IndexedAccess access = RandomAccess(random);
    const bool fallback = access.numbers.start_index_map.empty();
    EXPECT_EQ(CheckRule(RandomScatter(access, round),
                        {.seed = round,
                         .count = 8,
                         .meshes = {round % 2 == 0 ? "a=2,b=2,c=2" : "a=3,b=2"},
                         .fallback = fallback}),
              absl::OkStatus());
  }
}

// RowAccess of a table by number, as an embedding's gradient does.
TEST(ScatterRules, VocabularyThatDoesNotDivide) {
  OneOp op =
      ScatterOp(RowAccess(50257, 2, 40), ElementType::kF32, ElementType::kS32,
                Combiner(Opcode::kAdd, ElementType::kF32));
  op.draws[1] = Integers(-10, 50270);
  const BuiltOp built = Build(op);
  const Rule rule = RuleFor(*built.instruction);
  Strategy strategy;
  strategy.factor_axes.resize(rule.factors.size());
  strategy.factor_axes[rule.operands[0][0][0]] = {0, 1, 2};
  EXPECT_EQ(CheckStrategy(op, strategy, *Mesh::Parse("8")), absl::OkStatus());
}

TEST(ScatterRules, EmbeddingGradientOnAllMeshes) {
  EXPECT_EQ(CheckRule(ScatterOp(RowAccess(7, 6, 5), ElementType::kF32,
                                ElementType::kS32,
                                Combiner(Opcode::kAdd, ElementType::kF32))),
            absl::OkStatus());
}

// Without equal indices, overwriting passes partial values on.
TEST(ScatterRules, OverwritingUniqueRows) {
  OneOp op = ScatterOp(RowAccess(7, 6, 1), ElementType::kF32, ElementType::kS32,
                       Overwrite(ElementType::kF32));
  const auto set = op.set;
  op.set = [set](Attributes& a) {
    set(a);
    a.unique_indices = true;
  };
  EXPECT_FALSE(RuleFor(*Build(op).instruction).linear.empty());
  EXPECT_EQ(CheckRule(op, {.meshes = {"a=2,b=2"}}), absl::OkStatus());
}

}  // namespace
}  // namespace meshwright
