#include "meshwright/rules/simplify.h"

#include "gtest/gtest.h"
#include "meshwright/rules/local_builder.h"

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

}  // namespace
}  // namespace meshwright
