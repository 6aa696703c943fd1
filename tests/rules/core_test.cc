// Sums, products and sources of values, against running them whole.
#include <gtest/gtest.h>

#include <algorithm>

#include "absl/status/status.h"
#include "tests/rules/host_values.h"
#include "tests/rules/random_shapes.h"
#include "tests/rules/rule_oracle.h"

namespace meshwright {
namespace {

OneOp ReduceOp(Opcode combiner, ElementType type, std::vector<int64_t> sizes,
               std::vector<int64_t> reduced) {
  return {.opcode = Opcode::kReduce,
          .operands = {ShapeText(type, sizes), ShapeText(type, {})},
          .set = [reduced](Attributes& a) { a.dimensions = reduced; },
          .called = {Combiner(combiner, type)},
          .draws = {{1, Integers(1, 3)}}};
}

TEST(CoreRules, Reductions) {
  for (const auto& [combiner, type] :
       std::vector<std::pair<Opcode, ElementType>>{
           {Opcode::kAdd, ElementType::kF32},
           {Opcode::kAdd, ElementType::kBF16},
           {Opcode::kAdd, ElementType::kS8},
           {Opcode::kMaximum, ElementType::kF32},
           {Opcode::kMaximum, ElementType::kS32},
           {Opcode::kMaximum, ElementType::kU8},
           {Opcode::kMinimum, ElementType::kBF16},
           {Opcode::kMultiply, ElementType::kF32},
           {Opcode::kAnd, ElementType::kPred},
           {Opcode::kOr, ElementType::kPred}}) {
    OneOp op = ReduceOp(combiner, type, {3, 6, 5}, {0, 2});
    if (type == ElementType::kPred) op.draws[1] = Integers(0, 1);
    if (combiner == Opcode::kMultiply) op.draws[0] = Integers(-2, 2);
    EXPECT_EQ(CheckRule(op, kQuick), absl::OkStatus());
  }
}

TEST(CoreRules, ReductionsOfRandomDimensions) {
  Random random(3);
  for (int round = 0; round < 6; ++round) {
    const std::vector<int64_t> sizes = RandomSizes(random, 1, 4);
    const int64_t rank = static_cast<int64_t>(sizes.size());
    std::vector<int64_t> reduced = RandomOrder(random, rank);
    reduced.resize(1 + RandomBelow(random, rank));
    std::sort(reduced.begin(), reduced.end());
    int64_t count = 1;
    for (const int64_t dimension : reduced) count *= sizes[dimension];
    // The compiler drops the start value of a reduction of one element.
    if (count == 1) continue;
    EXPECT_EQ(
        CheckRule(ReduceOp(Opcode::kAdd, ElementType::kF32, sizes, reduced),
                  kQuick),
        absl::OkStatus());
  }
}

TEST(CoreRules, StartValuesThatAreIdentities) {
  OneOp op = ReduceOp(Opcode::kAdd, ElementType::kF32, {5, 6}, {0});
  op.constants[1] = 0;
  EXPECT_EQ(CheckRule(op, kQuick), absl::OkStatus());
}

TEST(CoreRules, BitwiseReductionsGatherTheirParts) {
  // Collectives know "and" and "or" of truth values only.
  OneOp op = ReduceOp(Opcode::kAnd, ElementType::kS32, {6, 5}, {0});
  op.constants[1] = -1;
  op.draws[0] = Integers(0, 255);
  EXPECT_EQ(CheckRule(op, kQuick), absl::OkStatus());
}

// (value, index, value, index) -> the larger value, or the lower index.
Computation* ArgMaxBody(Module& module) {
  Computation* body = module.AddComputation("arg_max");
  const Shape value = Shape::Scalar(ElementType::kF32);
  const Shape index = Shape::Scalar(ElementType::kS32);
  const Shape truth = Shape::Scalar(ElementType::kPred);
  Instruction* a = body->AddParameter(value, "a");
  Instruction* i = body->AddParameter(index, "i");
  Instruction* b = body->AddParameter(value, "b");
  Instruction* j = body->AddParameter(index, "j");
  const auto compare = [&](Instruction* x, Instruction* y, const char* how,
                           const char* name) {
    Instruction* result = body->Add(Opcode::kCompare, truth, {x, y}, name);
    result->attributes.mutate().comparison_direction = how;
    return result;
  };
  Instruction* tie = body->Add(
      Opcode::kAnd, truth,
      {compare(a, b, "EQ", "equal"), compare(i, j, "LT", "lower")}, "tie");
  Instruction* first = body->Add(
      Opcode::kOr, truth, {compare(a, b, "GT", "greater"), tie}, "first");
  Instruction* best = body->Add(Opcode::kSelect, value, {first, a, b}, "best");
  Instruction* at = body->Add(Opcode::kSelect, index, {first, i, j}, "at");
  body->Add(Opcode::kTuple, Shape::Tuple({value, index}), {best, at}, "both");
  return body;
}

TEST(CoreRules, ArgMax) {
  EXPECT_EQ(CheckRule({.opcode = Opcode::kReduce,
                       .operands = {"f32[5,7]", "s32[5,7]", "f32[]", "s32[]"},
                       .set = [](Attributes& a) { a.dimensions = {1}; },
                       .called = {ArgMaxBody},
                       .constants = {{2, -100}, {3, 1000}},
                       .draws = {{1, Integers(0, 20)}}}),
            absl::OkStatus());
}

TEST(CoreRules, Dots) {
  Random random(5);
  for (int round = 0; round < 10; ++round) {
    // Sizes of dimensions by role: batch, contracting, lhs free, rhs free.
    std::vector<int64_t> lhs;
    std::vector<int64_t> rhs;
    DotDimensionNumbers dot;
    const std::vector<int64_t> batch = RandomSizes(random, 0, 2);
    const std::vector<int64_t> contracting = RandomSizes(random, 0, 2);
    for (const int64_t size : batch) {
      dot.lhs_batch.push_back(static_cast<int64_t>(lhs.size()));
      dot.rhs_batch.push_back(static_cast<int64_t>(rhs.size()));
      lhs.push_back(size);
      rhs.push_back(size);
    }
    if (random() % 2 == 0) lhs.push_back(RandomSize(random));
    for (const int64_t size : contracting) {
      dot.lhs_contracting.push_back(static_cast<int64_t>(lhs.size()));
      dot.rhs_contracting.push_back(static_cast<int64_t>(rhs.size()));
      lhs.push_back(size);
      rhs.push_back(size);
    }
    if (random() % 2 == 0) lhs.push_back(RandomSize(random));
    if (random() % 2 == 0) rhs.push_back(RandomSize(random));
    EXPECT_EQ(CheckRule({.opcode = Opcode::kDot,
                         .operands = {ShapeText(ElementType::kF32, lhs),
                                      ShapeText(ElementType::kF32, rhs)},
                         .set = [&](Attributes& a) { a.dot = dot; }},
                        kQuick),
              absl::OkStatus());
  }
}

TEST(CoreRules, DotOnAllMeshes) {
  EXPECT_EQ(CheckRule({.opcode = Opcode::kDot,
                       .operands = {"bf16[6,5]", "bf16[5,8]"},
                       .set =
                           [](Attributes& a) {
                             a.dot = {{1}, {0}};
                           },
                       .result = "f32[6,8]"}),
            absl::OkStatus());
}

TEST(CoreRules, Iotas) {
  for (const ElementType type :
       {ElementType::kS32, ElementType::kF32, ElementType::kBF16,
        ElementType::kF16, ElementType::kS8, ElementType::kU8,
        ElementType::kS64, ElementType::kU64, ElementType::kF64,
        ElementType::kC64}) {
    // More than 2^8 of them: bf16 and s8 must round and wrap as one would.
    EXPECT_EQ(CheckRule({.opcode = Opcode::kIota,
                         .set = [](Attributes& a) { a.dimensions = {1}; },
                         .result = ShapeText(type, {2, 301})},
                        kQuick),
              absl::OkStatus())
        << Name(type);
  }
}

TEST(CoreRules, Constants) {
  for (const bool splat : {false, true}) {
    for (const ElementType type : {ElementType::kF32, ElementType::kBF16,
                                   ElementType::kS64, ElementType::kPred}) {
      Literal literal = Zeros(Shape::Array(type, {5, 6}));
      for (int64_t i = 0; i < 30; ++i) {
        SetElement(literal, i, splat ? 3 : static_cast<double>(i % 11));
      }
      literal.shape.layout.emplace();
      literal.shape.layout->minor_to_major = {1, 0};
      EXPECT_EQ(CheckRule({.opcode = Opcode::kConstant,
                           .set =
                               [&](Attributes& a) {
                                 a.literal =
                                     std::make_shared<const Literal>(literal);
                               },
                           .result = ShapeText(type, {5, 6})},
                          kQuick),
                absl::OkStatus());
    }
  }
}

}  // namespace
}  // namespace meshwright
