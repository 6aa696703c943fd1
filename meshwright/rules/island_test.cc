#include "meshwright/rules/island.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/mesh/sharding_text.h"
#include "meshwright/rules/lowering.h"
#include "meshwright/rules/refusal.h"

namespace meshwright {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Groups = std::vector<std::vector<int64_t>>;

// x f32[8,16] over data, w f32[16,32] over model -> the sum of x w's columns
// over model, plus the device's number; each device sends its own one on.
struct Step {
  Step() {
    const auto array = [](std::vector<int64_t> dims) {
      return Shape::Array(ElementType::kF32, std::move(dims));
    };
    const Shape scalar = Shape::Scalar(ElementType::kF32);
    Computation* add = module.AddComputation("add");
    Instruction* a = add->AddParameter(scalar, "a");
    Instruction* b = add->AddParameter(scalar, "b");
    add->Add(Opcode::kAdd, scalar, {a, b}, "sum");
    body = module.AddComputation("body");
    Instruction* local_x = body->AddParameter(array({4, 16}), "local_x");
    body->AddParameter(array({16, 8}), "local_w");
    Instruction* all =
        body->Add(Opcode::kAllReduce, local_x->shape, {local_x}, "reduced");
    all->attributes.mutate().replica_groups = {{0, 1, 2, 3}, {4, 5, 6, 7}};
    all->attributes.mutate().channel_id = 1;
    all->attributes.mutate().use_global_device_ids = true;
    all->called = {add};
    Instruction* sent =
        body->Add(Opcode::kCollectivePermute, local_x->shape, {all}, "sent");
    sent->attributes.mutate().source_target_pairs = {{0, 4}, {4, 0}};
    Instruction* id = body->Add(Opcode::kPartitionId,
                                Shape::Scalar(ElementType::kU32), {}, "id");
    body->Add(Opcode::kTuple, Shape::Tuple({sent->shape, id->shape}),
              {sent, id}, "results");
    Computation* entry = module.AddComputation("main");
    Instruction* x = entry->AddParameter(array({8, 16}), "x");
    Instruction* w = entry->AddParameter(array({16, 32}), "w");
    island =
        entry->Add(Opcode::kCustomCall,
                   Shape::Tuple({x->shape, Shape::Scalar(ElementType::kU32)}),
                   {x, w}, "island");
    island->called = {body};
    island->attributes.mutate().custom_call_target = kIslandTarget;
    island->attributes.mutate().backend_config =
        "data=2,model=4: [data,-], [-,model] -> [data,-], []";
    module.set_entry(entry);
  }

  // The axes that stand for data and model, for each strategy.
  std::vector<std::string> AxesOn(const char* text) const {
    const Mesh mesh = *Mesh::Parse(text);
    std::vector<std::string> axes;
    for (const Strategy& strategy : ManualStrategies(RuleFor(*island), mesh)) {
      axes.push_back(AxesToString(strategy.factor_axes[0], mesh) + " " +
                     AxesToString(strategy.factor_axes[1], mesh));
    }
    return axes;
  }

  Module module{"step"};
  Computation* body = nullptr;
  Instruction* island = nullptr;
};

TEST(IslandTest, SaysHowItIsSplit) {
  const Step step;
  const absl::StatusOr<Island> island = IslandOf(*step.island);
  ASSERT_TRUE(island.ok()) << island.status();
  EXPECT_EQ(ToString(*island),
            "data=2,model=4: [data, -], [-, model] -> [data, -], []");
  const Mesh mesh = *Mesh::Parse("data=2,model=4");
  const Rule rule = RuleFor(*step.island);
  const std::vector<Strategy> strategies = ManualStrategies(rule, mesh);
  ASSERT_EQ(strategies.size(), 1);
  EXPECT_EQ(ToString(OperandSharding(rule, strategies[0], 1, mesh), mesh),
            "[-, model]");
  EXPECT_EQ(ToString(ResultSharding(rule, strategies[0], 0, mesh), mesh),
            "[data, -]");
  Strategy none = strategies[0];
  none.factor_axes.assign(none.factor_axes.size(), {});
  EXPECT_FALSE(IsValid(rule, none, mesh));
}

TEST(IslandTest, AxesAreMatchedByNameThenBySize) {
  const Step step;
  EXPECT_THAT(step.AxesOn("data=2,model=4"), ElementsAre("data model"));
  EXPECT_THAT(step.AxesOn("model=4,data=2,rest=2"), ElementsAre("data model"));
  EXPECT_THAT(step.AxesOn("x=4,y=2"), ElementsAre("y x"));
  EXPECT_THAT(step.AxesOn("data=2,x=4,y=4"), ElementsAre("data x", "data y"));
  EXPECT_THAT(step.AxesOn("x=2,y=2,z=2"),
              ElementsAre("x (y,z)", "y (x,z)", "z (x,y)"));
  // Parts of axes, where whole ones do not do.
  EXPECT_THAT(
      step.AxesOn("d=8"),
      ElementsAre("d:(1)2 d:(2)4", "d:(2)2 (d:(1)2,d:(4)2)", "d:(4)2 d:(1)4"));
  EXPECT_THAT(step.AxesOn("data=4,model=2"), testing::Not(IsEmpty()));
  EXPECT_THAT(step.AxesOn("data=2,model=2"), IsEmpty());
  EXPECT_THAT(step.AxesOn("data=3,model=4"), IsEmpty());
}

// The program of a device on `mesh`, by the first strategy.
struct Lowered {
  Lowered(const Step& step, const char* mesh)
      : program("p", *Mesh::Parse(mesh)) {
    Computation* entry = program.module.AddComputation("entry");
    program.module.set_entry(entry);
    LocalBuilder builder(&program, entry);
    const Rule rule = RuleFor(*step.island);
    const Strategy strategy = ManualStrategies(rule, program.mesh)[0];
    LocalOp op{*step.island, rule, strategy, {}};
    for (const Instruction* parameter : step.body->Parameters()) {
      op.operands.push_back(
          entry->AddParameter(parameter->shape, parameter->name));
    }
    results = Lower(op, builder);
    for (const auto& instruction : entry->instructions()) {
      if (instruction->opcode == Opcode::kAllReduce) sum = instruction.get();
      if (instruction->opcode == Opcode::kCollectivePermute) {
        permute = instruction.get();
      }
    }
  }

  LocalProgram program;
  std::vector<Instruction*> results;
  const Instruction* sum = nullptr;
  const Instruction* permute = nullptr;
};

TEST(IslandTest, BodyNamesTheDevicesOfThePlan) {
  const Step step;
  const Lowered same(step, "data=2,model=4");
  EXPECT_EQ(same.sum->attributes->replica_groups,
            (Groups{{0, 1, 2, 3}, {4, 5, 6, 7}}));
  EXPECT_EQ(same.sum->attributes->channel_id, 0);
  EXPECT_FALSE(same.sum->attributes->use_global_device_ids);
  EXPECT_EQ(AxesToString(same.program.collectives.at(same.sum).axes,
                         same.program.mesh),
            "model");
  // Device 2 * model + data.
  const Lowered turned(step, "model=4,data=2");
  EXPECT_EQ(turned.sum->attributes->replica_groups,
            (Groups{{0, 2, 4, 6}, {1, 3, 5, 7}}));
  EXPECT_EQ(turned.permute->attributes->source_target_pairs[0].target, 1);
  EXPECT_EQ(turned.results[1]->shape.element_type, ElementType::kU32);
}

TEST(IslandTest, OtherAxesHaveCopies) {
  const Step step;
  const Lowered copies(step, "data=2,rest=2,model=4");
  EXPECT_EQ(
      copies.sum->attributes->replica_groups,
      (Groups{{0, 1, 2, 3}, {8, 9, 10, 11}, {4, 5, 6, 7}, {12, 13, 14, 15}}));
  EXPECT_EQ(copies.permute->attributes->source_target_pairs.size(), 4);
}

TEST(IslandTest, WhatDoesNotFitIsRefused) {
  Step step;
  EXPECT_EQ(Refusal(*step.island), "");
  std::string& config = step.island->attributes.mutate().backend_config;
  config = "data=2,model=4: [-,data], [-,model] -> [data,-], []";
  EXPECT_THAT(Refusal(*step.island),
              HasSubstr("its body has f32[4,16] for operand 0, which is split "
                        "as [-, data]"));
  config = "data=2,model=4: [data,-] -> [data,-], []";
  EXPECT_THAT(Refusal(*step.island), HasSubstr("shardings for 1 of 2 arrays"));
  config = "data=2,model=2: [data,-], [-,model] -> [data,-], []";
  EXPECT_THAT(Refusal(*step.island), HasSubstr("its body has f32[16,8]"));
  config = "data=2,model=4: [data,-], [-,model] -> [data,-], []";
  for (const auto& instruction : step.body->instructions()) {
    if (instruction->opcode == Opcode::kAllReduce) {
      instruction->attributes.mutate().replica_groups = {{0, 8}};
    }
  }
  EXPECT_EQ(Refusal(*step.island),
            "in its shard_map: all-reduce names a device that the mesh does "
            "not have");
}

}  // namespace
}  // namespace meshwright
