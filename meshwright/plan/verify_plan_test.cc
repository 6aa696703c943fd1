#include "meshwright/plan/verify_plan.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace meshwright {
namespace {

using ::testing::HasSubstr;

Module Step(int64_t rows) {
  Module module("step");
  Computation* const entry = module.AddComputation("main");
  const Shape shape = Shape::Array(ElementType::kF32, {rows});
  Instruction* const x = entry->AddParameter(shape, "x");
  entry->set_root(entry->Add(Opcode::kNegate, shape, {x}, "y"));
  module.set_entry(entry);
  return module;
}

Plan Made(const Module& module) {
  Plan plan(PlannedLayout{.mesh = *Mesh::Parse("data=2")});
  plan.module_name = module.name();
  plan.fingerprint = Fingerprint(module);
  plan.step_fingerprint = plan.fingerprint;
  plan.collectives = {{.kind = "all-reduce",
                       .axes = "data",
                       .tensor = "a",
                       .devices = 2,
                       .bytes = 64,
                       .count = 3}};
  return plan;
}

TEST(VerifyPlanTest, RefusesAnotherModuleAndAnotherStep) {
  const Module module = Step(8);
  const Module other = Step(16);
  const Plan plan = Made(module);
  EXPECT_TRUE(VerifyModule(plan, module).ok());
  EXPECT_TRUE(VerifyStep(plan, module).ok());
  EXPECT_THAT(std::string(VerifyModule(plan, other).message()),
              HasSubstr("for another module"));
  EXPECT_THAT(std::string(VerifyStep(plan, other).message()),
              HasSubstr("another version made the plan"));
}

TEST(VerifyPlanTest, SourceLinesAreNotTheModule) {
  const Module module = Step(8);
  Module moved = Step(8);
  moved.entry()->root()->metadata.source_line = 7;
  EXPECT_TRUE(VerifyModule(Made(module), moved).ok());
  moved.entry()->root()->opcode = Opcode::kAbs;
  EXPECT_FALSE(VerifyModule(Made(module), moved).ok());
}

TEST(VerifyPlanTest, CountsCollectivesByKindAxesAndBytes) {
  const Plan plan = Made(Step(8));
  // Whatever they are called, and however they are listed.
  std::vector<PlannedCollective> lowered(2, plan.collectives[0]);
  lowered[0].count = 1;
  lowered[1].count = 2;
  lowered[1].tensor = "b";
  EXPECT_TRUE(VerifyCollectives(plan, lowered).ok());
  for (const auto change : {+[](PlannedCollective& c) { c.count = 4; },
                            +[](PlannedCollective& c) { c.bytes = 128; },
                            +[](PlannedCollective& c) { c.axes = "model"; },
                            +[](PlannedCollective& c) { c.kind = "copy"; }}) {
    std::vector<PlannedCollective> changed = lowered;
    change(changed[1]);
    const absl::Status status = VerifyCollectives(plan, changed);
    EXPECT_TRUE(absl::IsInvalidArgument(status));
    EXPECT_THAT(std::string(status.message()), HasSubstr("plan again"));
  }
  EXPECT_THAT(std::string(VerifyCollectives(plan, {}).message()),
              HasSubstr("lists 3 x all-reduce along data of 64 bytes, its "
                        "program has 0"));
}

}  // namespace
}  // namespace meshwright
