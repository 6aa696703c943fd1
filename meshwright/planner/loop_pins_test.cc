#include "meshwright/planner/loop_pins.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace meshwright {
namespace {

// tanh of x, under each of these names.
Module WithNames(int64_t rows, const std::vector<std::string>& names) {
  Module module("step");
  Computation* const entry = module.AddComputation("main");
  const Shape shape = Shape::Array(ElementType::kF32, {rows, 8});
  Instruction* value = entry->AddParameter(shape, "x");
  for (const std::string& name : names) {
    value = entry->Add(Opcode::kTanh, shape, {value}, name);
  }
  module.set_entry(entry);
  entry->set_root(value);
  return module;
}

TEST(PinsInLoop, ReachWhatStandsForTheInstruction) {
  const Mesh mesh = *Mesh::Parse("d=2");
  const Module step = WithNames(8, {"tanh.17", "tanh.3"});
  Annotations pins;
  Sharding rows = Sharding::Replicated({8, 8});
  rows.dims[0] = {Part{8, mesh.SubAxes(0)}};
  for (const auto& instruction : step.entry()->instructions()) {
    if (instruction->name == "tanh.17") {
      pins.instructions[instruction.get()] = Annotation(rows);
    }
  }
  ASSERT_EQ(pins.instructions.size(), 1u);
  const std::vector<std::string> same = {
      "tanh.17",         "tanh.17.2",          "tanh.17.2.1",
      "tanh.17.again",   "tanh.17.again.2",    "tanh.17.again.1.2",
      "tanh.17.2.again", "tanh.17.again.3.1.2"};
  std::vector<std::string> all = same;
  all.insert(all.end(), {"tanh.3", "tanh.1", "tanh.171", "tanh.3.again",
                         "tanh.again.17", "tanh.17.again.other"});
  const Module looped = WithNames(4, all);
  const Annotations found = PinsInLoop(pins, looped, 2);
  std::vector<std::string> names;
  for (const auto& [instruction, pin] : found.instructions) {
    names.push_back(instruction->name);
    EXPECT_EQ(GlobalSize(pin.sharding.dims[0]), 4);
    EXPECT_EQ(AxesOf(pin.sharding.dims[0]), mesh.SubAxes(0));
  }
  EXPECT_THAT(names, testing::UnorderedElementsAreArray(same));
}

}  // namespace
}  // namespace meshwright
