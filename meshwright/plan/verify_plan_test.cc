#include "meshwright/plan/verify_plan.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/mesh/sharding_text.h"

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
  plan.collectives = {{.kind = Opcode::kAllReduce,
                       .axes = "data",
                       .tensor = "a",
                       .devices = 2,
                       .bytes = 64,
                       .wire_bytes = 64,
                       .count = 3}};
  return plan;
}

PlannedTensors Arrays() {
  const auto tensor = [](const char* name) -> PlannedTensor {
    return {.name = name,
            .dimensions = {8},
            .sharding = *ParseSharding("[data]", {8}, *Mesh::Parse("data=2"))};
  };
  return {{tensor("x"), tensor("w")}, {tensor("y")}};
}

// Of a plan whose step and program are those.
absl::Status VerifyWith(const Plan& plan, const Module& module,
                        const Module& step,
                        const std::vector<PlannedCollective>& lowered) {
  return Verify(
      plan, module,
      {.step = [&]() -> absl::StatusOr<const Module*> { return &step; },
       .collectives = [&]() -> absl::StatusOr<std::vector<PlannedCollective>> {
         return lowered;
       }});
}

std::string WhyNot(const absl::Status& status) {
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  return std::string(status.message());
}

TEST(VerifyPlanTest, RefusesAnotherModuleAndAnotherStep) {
  const Module module = Step(8);
  const Module other = Step(16);
  const Plan plan = Made(module);
  EXPECT_TRUE(VerifyWith(plan, module, module, plan.collectives).ok());
  EXPECT_THAT(WhyNot(VerifyWith(plan, other, module, plan.collectives)),
              HasSubstr("for another module"));
  EXPECT_THAT(WhyNot(VerifyWith(plan, module, other, plan.collectives)),
              HasSubstr("another version made the plan"));
}

TEST(VerifyPlanTest, MakesNothingOfAnotherModuleOrStep) {
  const Module module = Step(8);
  const Module other = Step(16);
  const Plan plan = Made(module);
  bool made = false;
  const auto step = [&]() -> absl::StatusOr<const Module*> {
    made = true;
    return &other;
  };
  bool lowered = false;
  const auto lower = [&]() -> absl::StatusOr<std::vector<PlannedCollective>> {
    lowered = true;
    return plan.collectives;
  };
  EXPECT_FALSE(Verify(plan, other, {step, lower}).ok());
  EXPECT_FALSE(made);
  EXPECT_FALSE(Verify(plan, module, {step, lower}).ok());
  EXPECT_TRUE(made);
  EXPECT_FALSE(lowered);
  EXPECT_TRUE(Verify(plan, module).ok());
}

TEST(VerifyPlanTest, SourceLinesAreNotTheModule) {
  const Module module = Step(8);
  Module moved = Step(8);
  moved.entry()->root()->metadata.source_line = 7;
  EXPECT_TRUE(Verify(Made(module), moved).ok());
  moved.entry()->root()->opcode = Opcode::kAbs;
  EXPECT_FALSE(Verify(Made(module), moved).ok());
}

TEST(VerifyPlanTest, NamesTheFirstTensorThatDiffers) {
  const Module module = Step(8);
  Plan plan = Made(module);
  plan.tensors = Arrays();
  const auto why = [&](const PlannedTensors& made) {
    return Verify(plan, module, {.tensors = [&] { return made; }});
  };
  EXPECT_TRUE(why(Arrays()).ok());
  PlannedTensors made = Arrays();
  made.parameters[1].sharding = Sharding::Replicated({8});
  EXPECT_THAT(WhyNot(why(made)),
              HasSubstr("parameter 1 is w f32[8] [data], its program's is w "
                        "f32[8] [-]: another version"));
  made = Arrays();
  made.outputs[0].name = "z";
  EXPECT_THAT(WhyNot(why(made)), HasSubstr("output 0 is y f32[8] [data]"));
  made = Arrays();
  made.outputs[0].dimensions = {16};
  EXPECT_THAT(WhyNot(why(made)), HasSubstr("its program's is y f32[16]"));
  made = Arrays();
  made.parameters.pop_back();
  EXPECT_THAT(WhyNot(why(made)), HasSubstr("its program's is none"));
}

TEST(VerifyPlanTest, CountsCollectivesByKindAxesAndBytes) {
  const Module module = Step(8);
  const Plan plan = Made(module);
  // Whatever they are called, and however they are listed.
  std::vector<PlannedCollective> lowered(2, plan.collectives[0]);
  lowered[0].count = 1;
  lowered[1].count = 2;
  lowered[1].tensor = "b";
  EXPECT_TRUE(VerifyWith(plan, module, module, lowered).ok());
  for (const auto change :
       {+[](PlannedCollective& c) { c.count = 4; },
        +[](PlannedCollective& c) { c.bytes = 128; },
        +[](PlannedCollective& c) { c.wire_bytes = 128; },
        +[](PlannedCollective& c) { c.axes = "model"; },
        +[](PlannedCollective& c) { c.kind = Opcode::kAllGather; }}) {
    std::vector<PlannedCollective> changed = lowered;
    change(changed[1]);
    EXPECT_THAT(WhyNot(VerifyWith(plan, module, module, changed)),
                HasSubstr("plan again"));
  }
  EXPECT_THAT(WhyNot(VerifyWith(plan, module, module, {})),
              HasSubstr("lists 3 x all-reduce along data of 64 bytes, its "
                        "program has 0"));
  lowered[0].wire_bytes = 96;
  EXPECT_THAT(WhyNot(VerifyWith(plan, module, module, lowered)),
              HasSubstr("lists 3 x all-reduce along data of 64 bytes, of which "
                        "a device sends 192, its program sends 224"));
}

}  // namespace
}  // namespace meshwright
