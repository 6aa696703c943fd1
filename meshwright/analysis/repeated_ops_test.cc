#include "meshwright/analysis/repeated_ops.h"

#include "gtest/gtest.h"
#include "meshwright/analysis/small_step_for_test.h"

namespace meshwright {
namespace {

struct Repeating : SmallStep {
  explicit Repeating(Opcode held_by) {
    x = Parameter("x", 8);
    y = Unary(Opcode::kTanh, "y", x);
    Instruction* const held = Unary(held_by, "held", x);
    again = Unary(Opcode::kTanh, "again", held);
    other = Unary(Opcode::kExponential, "other", held);
    Return({y, again, other});
  }

  Instruction *x, *y, *again, *other;
};

TEST(FirstAlikeTest, BarriersAside) {
  const Repeating step(Opcode::kOptBarrier);
  const auto first = FirstIdentical(*step.entry);
  EXPECT_EQ(first[step.y->id], step.y->id);
  EXPECT_EQ(first[step.again->id], step.y->id);
  EXPECT_EQ(first[step.other->id], step.other->id);
}

TEST(FirstAlikeTest, OtherOperandsAreOther) {
  const Repeating step(Opcode::kNegate);
  const auto first = FirstIdentical(*step.entry);
  EXPECT_EQ(first[step.again->id], step.again->id);
}

}  // namespace
}  // namespace meshwright
