#include "meshwright/program_passes/sink_reductions.h"

#include <gtest/gtest.h>

#include "meshwright/program/local_builder.h"

namespace meshwright {
namespace {

class SinkReductionsTest : public testing::Test {
 protected:
  SinkReductionsTest()
      : program_("test", Mesh::Parse("4").value()),
        entry_(program_.module.AddComputation("entry")),
        builder_(&program_, entry_) {
    program_.module.set_entry(entry_);
    value_ = entry_->AddParameter(Shape::Array(ElementType::kF32, {6, 4}), "p");
    sum_ =
        builder_.AllReduce(value_, Reduction::kSum, program_.mesh.AllSubAxes());
  }

  LocalProgram program_;
  Computation* entry_;
  LocalBuilder builder_;
  Instruction* value_;
  Instruction* sum_;
};

TEST_F(SinkReductionsTest, PassesTransposesAndReshapes) {
  Instruction* turned = builder_.Transpose(sum_, {1, 0});
  Instruction* root = builder_.Reshape(turned, {24});
  entry_->set_root(root);
  SinkReductions(program_);
  EXPECT_EQ(root->opcode, Opcode::kAllReduce);
  EXPECT_EQ(root->shape.dimensions, (std::vector<int64_t>{24}));
  EXPECT_EQ(turned->opcode, Opcode::kReshape);
  EXPECT_EQ(turned->shape.dimensions, (std::vector<int64_t>{24}));
  EXPECT_EQ(sum_->opcode, Opcode::kTranspose);
  EXPECT_EQ(sum_->shape.dimensions, (std::vector<int64_t>{4, 6}));
  EXPECT_EQ(sum_->operands[0], value_);
  EXPECT_TRUE(program_.collectives.contains(root));
  EXPECT_FALSE(program_.collectives.contains(sum_));
}

TEST_F(SinkReductionsTest, StaysIfOthersNeedIt) {
  Instruction* turned = builder_.Transpose(sum_, {1, 0});
  entry_->set_root(builder_.Tuple({turned, sum_}));
  SinkReductions(program_);
  EXPECT_EQ(sum_->opcode, Opcode::kAllReduce);
  EXPECT_EQ(turned->opcode, Opcode::kTranspose);
}

}  // namespace
}  // namespace meshwright
