#include "meshwright/hlo/separate_barriers.h"

#include "gtest/gtest.h"
#include "meshwright/hlo/verify.h"

namespace meshwright {
namespace {

// y = b.0 * b.1 + b.0' of a barrier b around (x, w); `used` elements of it.
struct Joint {
  explicit Joint(int used) {
    const Shape shape = Shape::Array(ElementType::kF32, {4});
    Computation* entry = module.AddComputation("main");
    module.set_entry(entry);
    x = entry->AddParameter(shape, "x");
    Instruction* w = entry->AddParameter(shape, "w");
    const Shape pair = Shape::Tuple({shape, shape});
    Instruction* both = entry->Add(Opcode::kTuple, pair, {x, w}, "both");
    Instruction* barrier =
        entry->Add(Opcode::kOptBarrier, pair, {both}, "barrier");
    const auto element = [&](int64_t index, const char* name) {
      Instruction* made =
          entry->Add(Opcode::kGetTupleElement, shape, {barrier}, name);
      made->attributes.mutate().tuple_index = index;
      return made;
    };
    first = element(0, "first");
    again = element(0, "again");
    second = used > 1 ? element(1, "second") : w;
    Instruction* product =
        entry->Add(Opcode::kMultiply, shape, {first, second}, "product");
    entry->Add(Opcode::kAdd, shape, {product, again}, "sum");
    module.Finish();
    EXPECT_EQ(Verify(module), absl::OkStatus());
  }

  Module module{"joint"};
  Instruction* x = nullptr;
  Instruction* first = nullptr;
  Instruction* again = nullptr;
  Instruction* second = nullptr;
};

TEST(SeparateBarriersTest, OneBarrierForEachElement) {
  Joint joint(2);
  EXPECT_TRUE(HasJointBarriers(joint.module));
  SeparateBarriers(joint.module);
  EXPECT_EQ(Verify(joint.module), absl::OkStatus());
  EXPECT_EQ(joint.first->opcode, Opcode::kOptBarrier);
  EXPECT_EQ(joint.first->operands[0], joint.x);
  EXPECT_EQ(joint.second->opcode, Opcode::kOptBarrier);
  EXPECT_EQ(joint.again->opcode, Opcode::kCopy);
  EXPECT_EQ(joint.again->operands[0], joint.first);
  EXPECT_FALSE(HasJointBarriers(joint.module));
}

TEST(SeparateBarriersTest, WhatIsOnlyWaitedForStays) {
  Joint joint(1);
  EXPECT_FALSE(HasJointBarriers(joint.module));
  SeparateBarriers(joint.module);
  EXPECT_EQ(joint.first->opcode, Opcode::kGetTupleElement);
}

}  // namespace
}  // namespace meshwright
