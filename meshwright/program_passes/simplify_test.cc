#include "meshwright/program_passes/simplify.h"

#include "absl/algorithm/container.h"
#include "gtest/gtest.h"
#include "meshwright/program/local_builder.h"

namespace meshwright {
namespace {

// Two f32[3] joined, and a part of that.
class SliceOfJoined {
 public:
  SliceOfJoined(int64_t start, int64_t limit)
      : program_("joined", *Mesh::Parse("2")) {
    Computation* entry = program_.module.AddComputation("entry");
    program_.module.set_entry(entry);
    const Shape shape = Shape::Array(ElementType::kF32, {3});
    first = entry->AddParameter(shape, "first");
    second = entry->AddParameter(shape, "second");
    LocalBuilder builder(&program_, entry);
    entry->set_root(builder.Slice(builder.Concatenate({first, second}, 0), 0,
                                  start, limit));
    Simplify(program_);
  }

  const Instruction& root() const { return *program_.module.entry()->root(); }

  Instruction* first = nullptr;
  Instruction* second = nullptr;

 private:
  LocalProgram program_;
};

TEST(Simplify, ASliceWithinOnePartIsCutFromIt) {
  const SliceOfJoined slice(4, 6);
  ASSERT_EQ(slice.root().opcode, Opcode::kSlice);
  EXPECT_EQ(slice.root().operands[0], slice.second);
  EXPECT_EQ(slice.root().attributes->slice[0].start, 1);
  EXPECT_EQ(slice.root().attributes->slice[0].limit, 3);
}

TEST(Simplify, ASliceOfAWholePartIsThatPart) {
  const SliceOfJoined slice(0, 3);
  EXPECT_EQ(&slice.root(), slice.first);
}

TEST(Simplify, ASliceOfTwoPartsStays) {
  const SliceOfJoined slice(2, 4);
  EXPECT_EQ(slice.root().operands[0]->opcode, Opcode::kConcatenate);
}

// Every device holds the same everywhere: nothing has to be sent.
TEST(Simplify, ASplatIsNotGathered) {
  LocalProgram program("splat", *Mesh::Parse("2"));
  Computation* entry = program.module.AddComputation("entry");
  program.module.set_entry(entry);
  LocalBuilder builder(&program, entry);
  const std::vector<int64_t> part = {4};
  Instruction* splat =
      builder.Broadcast(builder.Constant(ElementType::kF32, 3), part);
  entry->set_root(
      builder.AllGather(splat, program.mesh.AllSubAxes(), /*dimension=*/0));
  Simplify(program);
  EXPECT_EQ(entry->root()->opcode, Opcode::kBroadcast);
  EXPECT_EQ(entry->root()->shape.dimensions, std::vector<int64_t>({8}));
  EXPECT_EQ(entry->size(), 2);
}

// The sum of the rows of a matrix, at once and step by step, both gathered.
class SumsOfRows : public testing::Test {
 protected:
  SumsOfRows()
      : program_("sums", *Mesh::Parse("2")),
        entry_(program_.module.AddComputation("entry")),
        builder_(&program_, entry_) {
    program_.module.set_entry(entry_);
    rows_ = entry_->AddParameter(Shape::Array(ElementType::kF32, {4, 2, 3}),
                                 "rows");
  }

  Instruction* Gathered(Instruction* value) {
    return builder_.AllGather(value, program_.mesh.AllSubAxes(), 0);
  }

  int64_t Gathers() {
    return absl::c_count_if(entry_->instructions(), [](const auto& each) {
      return each->opcode == Opcode::kAllGather;
    });
  }

  LocalProgram program_;
  Computation* entry_;
  LocalBuilder builder_;
  Instruction* rows_;
};

TEST_F(SumsOfRows, AreOneHoweverTheyAreMade) {
  Instruction* const at_once = builder_.Reduce(Reduction::kSum, rows_, {0, 1});
  Instruction* const pairs = builder_.Reduce(Reduction::kSum, rows_, {1});
  // Over dimensions of size 1: nothing.
  Instruction* const same = builder_.Reduce(
      Reduction::kSum, builder_.Reshape(pairs, {4, 1, 1, 3}), {1, 2});
  Instruction* const in_steps = builder_.Reduce(Reduction::kSum, same, {0});
  entry_->set_root(
      builder_.Concatenate({Gathered(at_once), Gathered(in_steps)}, 0));
  Simplify(program_);
  EXPECT_EQ(Gathers(), 1);
  Instruction* const gather = entry_->root()->operands[0];
  EXPECT_EQ(entry_->root()->operands[1], gather);
  EXPECT_EQ(gather->operands[0]->operands[0], rows_);
  EXPECT_EQ(gather->operands[0]->attributes->dimensions,
            std::vector<int64_t>({0, 1}));
}

TEST_F(SumsOfRows, AreNotMadeAgainFromTheStart) {
  Instruction* const pairs = builder_.Reduce(Reduction::kSum, rows_, {1});
  Instruction* const sum = builder_.Reduce(Reduction::kSum, pairs, {0});
  entry_->set_root(builder_.Tuple({pairs, sum}));
  Simplify(program_);
  EXPECT_EQ(sum->operands[0], pairs);
}

TEST_F(SumsOfRows, AreNotLargestElements) {
  Instruction* const pairs = builder_.Reduce(Reduction::kMax, rows_, {1});
  Instruction* const sum = builder_.Reduce(Reduction::kSum, pairs, {0});
  entry_->set_root(sum);
  Simplify(program_);
  EXPECT_EQ(sum->operands[0], pairs);
}

TEST(Simplify, AReshapeForOneOpIsNotNeeded) {
  LocalProgram program("convert", *Mesh::Parse("2"));
  Computation* entry = program.module.AddComputation("entry");
  program.module.set_entry(entry);
  Instruction* const whole =
      entry->AddParameter(Shape::Array(ElementType::kS32, {3}), "whole");
  LocalBuilder builder(&program, entry);
  Instruction* const column =
      builder.Convert(ElementType::kF32, builder.Reshape(whole, {3, 1}));
  entry->set_root(builder.Tuple(
      {builder.Convert(ElementType::kF32, whole),
       builder.Reshape(column, std::vector<int64_t>{3}),
       builder.Reshape(
           builder.Unary(Opcode::kNegate, builder.Reshape(whole, {1, 3})),
           {3, 1})}));
  Simplify(program);
  const std::vector<Instruction*>& values = entry->root()->operands;
  EXPECT_EQ(values[0]->operands[0], whole);
  EXPECT_EQ(values[1], values[0]);
  EXPECT_EQ(values[2]->opcode, Opcode::kReshape);  // Of another shape.
}

}  // namespace
}  // namespace meshwright
