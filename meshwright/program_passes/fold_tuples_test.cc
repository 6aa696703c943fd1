#include "meshwright/program_passes/fold_tuples.h"

#include "gtest/gtest.h"
#include "meshwright/hlo/verify.h"

namespace meshwright {
namespace {

const Shape kRow = Shape::Array(ElementType::kF32, {64});
const Shape kPair = Shape::Tuple({kRow, kRow});

Instruction* ElementOf(Computation& in, Instruction* tuple, int64_t index,
                       const std::string& name) {
  Instruction* element =
      in.Add(Opcode::kGetTupleElement, tuple->shape.tuple_shapes[index],
             {tuple}, name);
  element->attributes.mutate().tuple_index = index;
  return element;
}

// Elements of elements too, as calls in calls leave them.
TEST(FoldTuplesTest, UsersUseWhatIsHandedOn) {
  Module module("m");
  Computation* entry = module.AddComputation("main");
  Instruction* a = entry->AddParameter(kRow, "a");
  Instruction* b = entry->AddParameter(kRow, "b");
  Instruction* inner = entry->Add(Opcode::kTuple, kPair, {a, b}, "inner");
  Instruction* outer = entry->Add(Opcode::kTuple, Shape::Tuple({kRow, kPair}),
                                  {a, inner}, "outer");
  Instruction* pair = ElementOf(*entry, outer, 1, "pair");
  Instruction* second = ElementOf(*entry, pair, 1, "second");
  Instruction* sum = entry->Add(Opcode::kAdd, kRow, {second, a}, "sum");
  module.set_entry(entry);
  module.Finish();
  ASSERT_EQ(Verify(module), absl::OkStatus());
  ASSERT_TRUE(HandsOnTuples(module));
  FoldTuples(module);
  EXPECT_EQ(Verify(module), absl::OkStatus());
  EXPECT_FALSE(HandsOnTuples(module));
  EXPECT_EQ(entry->root(), sum);
  EXPECT_EQ(sum->operands[0], b);
  EXPECT_EQ(entry->size(), 3);
}

TEST(FoldTuplesTest, TuplesThatAreNeededStay) {
  Module module("m");
  Computation* entry = module.AddComputation("main");
  Instruction* a = entry->AddParameter(kRow, "a");
  Instruction* b = entry->AddParameter(kPair, "b");
  Instruction* of_parameter = ElementOf(*entry, b, 0, "of_parameter");
  entry->Add(Opcode::kTuple, kPair, {a, of_parameter}, "both");
  module.set_entry(entry);
  module.Finish();
  ASSERT_EQ(Verify(module), absl::OkStatus());
  EXPECT_FALSE(HandsOnTuples(module));
  FoldTuples(module);
  EXPECT_EQ(entry->size(), 4);
  EXPECT_EQ(entry->root()->operands[1], of_parameter);
}

}  // namespace
}  // namespace meshwright
