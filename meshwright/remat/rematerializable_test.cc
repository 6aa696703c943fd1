// What is too expensive to rematerialise.
#include "meshwright/remat/rematerializable.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>

#include "meshwright/rules/attention_for_test.h"

namespace meshwright {
namespace {

TEST(ElementsOfTest, TuplesHaveThoseOfTheirArrays) {
  const Shape array = Shape::Array(ElementType::kF32, {4, 8});
  EXPECT_EQ(ElementsOf(array), 32);
  EXPECT_EQ(ElementsOf(Shape::Tuple({array, Shape::Tuple({array})})), 64);
  EXPECT_EQ(ElementsOf(Shape::Tuple({})), 0);
}

// Two operations for each of 2 * 64 multiplications, half of them masked: as
// many per element as the sequence has, times two.
TEST(IsExpensiveToRematerializeTest, LongAttention) {
  for (const auto& [sequence, is_expensive] :
       {std::pair<int64_t, bool>{128, false}, {1024, true}}) {
    const AttentionForTest attention(sequence);
    const ModuleWork work(attention.module);
    EXPECT_TRUE(IsRematerializable(*attention.call));
    EXPECT_GT(work.Of(*attention.call).flops, 0);
    EXPECT_EQ(IsExpensiveToRematerialize(*attention.call, work), is_expensive)
        << sequence;
  }
}

TEST(IsExpensiveToRematerializeTest, KernelsByTheirRecordedOperations) {
  for (const auto& [flops, is_expensive] :
       {std::pair<std::string, bool>{"", false},
        {"1e3", false},
        {"1e6", true}}) {
    Module module("step");
    Computation* entry = module.AddComputation("main");
    const Shape shape = Shape::Array(ElementType::kF32, {32, 32});
    Instruction* call = entry->Add(Opcode::kCustomCall, shape,
                                   {entry->AddParameter(shape, "x")}, "y");
    call->attributes.mutate().custom_call_target = "kernel";
    if (!flops.empty()) call->frontend_attributes = {{"mw.flops", flops}};
    entry->set_root(call);
    module.set_entry(entry);
    module.Finish();
    EXPECT_EQ(IsExpensiveToRematerialize(*call, ModuleWork(module)),
              is_expensive)
        << flops;
  }
}

}  // namespace
}  // namespace meshwright
