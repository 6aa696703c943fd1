#include "meshwright/partition/open_islands.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/annotations/island_fit.h"
#include "meshwright/annotations/testdata_for_test.h"
#include "meshwright/hlo/verify.h"
#include "meshwright/partition/take_islands.h"
#include "meshwright/rules/island.h"
#include "meshwright/rules/open_island.h"

namespace meshwright {
namespace {

// shard_map(psum over data)(x) + 1 on data=4,model=2.
Module Manual() { return *TakeIslands(ReadTestModule("manual.shardy.jax10")); }

Instruction* FindIn(const Module& module,
                    bool (*is)(const Instruction& instruction)) {
  for (const auto& instruction : module.entry()->instructions()) {
    if (is(*instruction)) return instruction.get();
  }
  return nullptr;
}

TEST(OpenIslandsTest, TheBodyIsAmongTheOtherOperations) {
  const absl::StatusOr<OpenedIslands> open = OpenIslands(Manual());
  ASSERT_TRUE(open.ok()) << open.status();
  EXPECT_TRUE(IslandsIn(open->module).empty());
  const Instruction* enter = FindIn(open->module, &EntersOpenIsland);
  const Instruction* leave = FindIn(open->module, &LeavesOpenIsland);
  const Instruction* sum =
      FindIn(open->module, [](const Instruction& instruction) {
        return instruction.opcode == Opcode::kAllReduce;
      });
  ASSERT_TRUE(enter != nullptr && leave != nullptr && sum != nullptr);
  EXPECT_EQ(enter->attributes->backend_config, "0 data=4,model=2: [data, -]");
  EXPECT_EQ(leave->attributes->backend_config, "0 data=4,model=2: [-, -]");
  EXPECT_EQ(enter->operand_shape(0).dimensions[0],
            4 * enter->shape.dimensions[0]);
  ASSERT_EQ(open->regions.size(), 1);
  EXPECT_THAT(open->regions[0].name, testing::HasSubstr("shard_map region "));
  for (const Instruction* inside : {enter, leave, sum}) {
    EXPECT_TRUE(open->region_of.contains(inside)) << inside->name;
  }
  EXPECT_FALSE(open->region_of.contains(open->module.entry()->root()));
}

TEST(OpenIslandsTest, ClosedItIsWhatItWas) {
  const Module module = Manual();
  absl::StatusOr<OpenedIslands> open = OpenIslands(module);
  ASSERT_TRUE(open.ok()) << open.status();
  const absl::StatusOr<Module> closed = CloseIslands(std::move(open->module));
  ASSERT_TRUE(closed.ok()) << closed.status();
  EXPECT_TRUE(Verify(*closed).ok()) << Verify(*closed);
  ASSERT_EQ(IslandsIn(*closed).size(), 1);
  const Instruction& island = *IslandsIn(*closed)[0];
  const Instruction& before = *IslandsIn(module)[0];
  EXPECT_EQ(ToString(*IslandOf(island)), ToString(*IslandOf(before)));
  EXPECT_EQ(RegionName(island), RegionName(before));
  EXPECT_EQ(island.name, before.name);
  EXPECT_EQ(island.called[0]->size(), before.called[0]->size());
}

TEST(OpenIslandsTest, WhatIsTakenFromOutsideEntersWhole) {
  absl::StatusOr<OpenedIslands> open = OpenIslands(Manual());
  ASSERT_TRUE(open.ok()) << open.status();
  Computation& entry = *open->module.entry();
  Instruction* root = entry.root();
  Instruction* enter = FindIn(open->module, &EntersOpenIsland);
  Instruction* scale = entry.AddParameter(enter->shape, "scale");
  Instruction* device = entry.Add(
      Opcode::kCustomCall, Shape::Scalar(ElementType::kU32), {}, "device");
  device->attributes.mutate().custom_call_target = kRegionDevice;
  device->attributes.mutate().backend_config = "0";
  Instruction* number =
      entry.Add(Opcode::kConvert, Shape::Scalar(enter->shape.element_type),
                {device}, "number");
  Instruction* each =
      entry.Add(Opcode::kBroadcast, enter->shape, {number}, "each");
  Instruction* shifted =
      entry.Add(Opcode::kAdd, enter->shape, {scale, each}, "shifted");
  Instruction* scaled =
      entry.Add(Opcode::kMultiply, enter->shape, {enter, shifted}, "scaled");
  std::vector<Instruction*> order;
  for (const auto& instruction : entry.instructions()) {
    if (instruction->id >= scale->id) break;
    order.push_back(instruction.get());
    if (instruction.get() != enter) {
      for (Instruction*& operand : instruction->operands) {
        if (operand == enter) operand = scaled;
      }
      continue;
    }
    order.insert(order.end(), {scale, device, number, each, shifted, scaled});
  }
  entry.set_root(root);
  entry.Keep(order);
  const absl::StatusOr<Module> closed = CloseIslands(std::move(open->module));
  ASSERT_TRUE(closed.ok()) << closed.status();
  ASSERT_EQ(IslandsIn(*closed).size(), 1);
  const Instruction& island = *IslandsIn(*closed)[0];
  EXPECT_EQ(ToString(*IslandOf(island)),
            "data=4,model=2: [data, -], [-, -] -> [-, -]");
  EXPECT_EQ(island.operands[1]->name, "scale");
  const auto& body = island.called[0]->instructions();
  EXPECT_TRUE(std::ranges::any_of(body, [](const auto& instruction) {
    return instruction->opcode == Opcode::kPartitionId;
  }));
}

}  // namespace
}  // namespace meshwright
