#include "meshwright/analysis/display_names.h"

#include "gtest/gtest.h"
#include "meshwright/hlo/shapes_for_test.h"

namespace meshwright {
namespace {

// loss(w, x) with w read by a loop, in which it is transposed first.
class DisplayNamesTest : public testing::Test {
 protected:
  DisplayNamesTest() : module_("step") {
    Computation* body = module_.AddComputation("body");
    const Shape pair = Shape::Tuple({F32({4, 8}), F32({2, 8})});
    Instruction* in = body->AddParameter(pair, "in");
    const auto element = [&](int64_t index, const char* name) {
      Instruction* made = body->Add(Opcode::kGetTupleElement,
                                    pair.tuple_shapes[index], {in}, name);
      made->attributes.mutate().tuple_index = index;
      return made;
    };
    Instruction* w = element(0, "gte.0");
    Instruction* x = element(1, "gte.1");
    Instruction* turned =
        body->Add(Opcode::kTranspose, F32({8, 4}), {w}, "transpose.5");
    dot_ = body->Add(Opcode::kDot, F32({2, 4}), {x, turned}, "dot.7");
    body->Add(Opcode::kTuple, pair, {w, x}, "tuple.1");
    Computation* entry = module_.AddComputation("main");
    Instruction* first = entry->AddParameter(F32({4, 8}), "Arg_0.1");
    first->frontend_attributes = {{"mw.name", "state/w"}, {"mw.role", "state"}};
    Instruction* second = entry->AddParameter(F32({2, 8}), "Arg_1.2");
    second->frontend_attributes = {{"mw.name", "batch/x"}, {"mw.role", "data"}};
    sum_ = entry->Add(Opcode::kAdd, F32({2, 8}), {second, second}, "add.3");
    Instruction* tuple =
        entry->Add(Opcode::kTuple, pair, {first, sum_}, "tuple.2");
    loop_ = entry->Add(Opcode::kWhile, pair, {tuple}, "while.4");
    loop_->called = {body};
    module_.set_entry(entry);
    parameter_ = first;
  }

  std::string Shown(const Instruction& instruction) const {
    return DisplayNames(module_, AnalyzeRoles(module_))
        .WithHloName(instruction);
  }

  Module module_;
  Instruction* parameter_ = nullptr;
  Instruction* dot_ = nullptr;
  Instruction* sum_ = nullptr;
  Instruction* loop_ = nullptr;
};

TEST_F(DisplayNamesTest, ScopesComeFirst) {
  dot_->metadata.op_name = "jit(step)/transpose(jvp(blocks/1))/dot_general";
  EXPECT_EQ(Shown(*dot_), "blocks/1/dot_general (backward) [dot.7]");
}

TEST_F(DisplayNamesTest, WithoutScopesTheParameterBehindAnOperandNamesIt) {
  dot_->metadata.op_name = "jit(step)/jvp()/dot_general";
  EXPECT_EQ(Shown(*dot_), "dot_general(state/w) [dot.7]");
  EXPECT_EQ(Shown(*sum_), "add(batch/x) [add.3]");
}

TEST_F(DisplayNamesTest, NothingBetterThanTheHloName) {
  EXPECT_EQ(Shown(*loop_), "while.4");
  EXPECT_EQ(Shown(*parameter_), "state/w [Arg_0.1]");
}

// Two loops over one body hand it different tensors: nobody knows which.
TEST_F(DisplayNamesTest, TwoCallersMakeAParameterAmbiguous) {
  Computation* entry = module_.entry();
  Instruction* other =
      entry->Add(Opcode::kTuple, loop_->shape, {parameter_, sum_}, "tuple.9");
  entry->Add(Opcode::kWhile, loop_->shape, {other}, "while.9")->called =
      loop_->called;
  EXPECT_EQ(Shown(*dot_), "dot.7");
}

}  // namespace
}  // namespace meshwright
