#include "meshwright/program_passes/prevent_cse.h"

#include "gtest/gtest.h"
#include "meshwright/program/local_builder.h"

namespace meshwright {
namespace {

// As if each of its collectives were for one use only.
void KeepAllApart(LocalProgram& program) {
  int32_t use = 0;
  for (auto& [collective, note] : program.collectives) note.use = ++use;
  PreventCse(program);
}

// y = all-gather(v) + rows of all-gather(table), with both gathered for one use
// only. XLA does not make over a gather that something waits for, and then
// cannot compile it.
TEST(PreventCse, NothingWaitsForAGather) {
  LocalProgram program("program", *Mesh::Parse("2"));
  Computation* const entry = program.module.AddComputation("entry");
  const auto floats = [](std::vector<int64_t> dimensions) {
    return Shape::Array(ElementType::kF32, std::move(dimensions));
  };
  Instruction* const part = entry->AddParameter(floats({4, 8}), "table");
  Instruction* const v = entry->AddParameter(floats({3, 4}), "v");
  Instruction* const numbers =
      entry->AddParameter(Shape::Array(ElementType::kS32, {3, 1}), "numbers");
  LocalBuilder build(&program, entry);
  Instruction* const table =
      build.AllGather(part, program.mesh.AllSubAxes(), 0);
  Instruction* const rows = build.Unary(Opcode::kNegate, numbers);
  Instruction* const gather =
      build.Add(Opcode::kGather, floats({3, 8}), {table, rows});
  Instruction* const other = build.AllGather(v, program.mesh.AllSubAxes(), 1);
  Instruction* const sum = build.Binary(Opcode::kAdd, other, gather);
  Instruction* const last = build.AllGather(v, program.mesh.AllSubAxes(), 1);
  entry->set_root(build.Binary(Opcode::kAdd, sum, last));
  program.module.set_entry(entry);
  KeepAllApart(program);
  program.module.Finish();
  for (const auto& instruction : entry->instructions()) {
    for (const Instruction* before : instruction->control_predecessors) {
      EXPECT_NE(before, gather) << instruction->name;
    }
  }
  EXPECT_EQ(last->control_predecessors, std::vector<Instruction*>{rows});
}

// z = all-gather(v) * (scatter + 0): the simplifier puts the scatter in the
// place of the sum, so the gather after it waits for what is before both.
TEST(PreventCse, NothingWaitsForWhatAScatterMayReplace) {
  LocalProgram program("program", *Mesh::Parse("2"));
  Computation* const entry = program.module.AddComputation("entry");
  const Shape table = Shape::Array(ElementType::kF32, {3, 8});
  Instruction* const v =
      entry->AddParameter(Shape::Array(ElementType::kF32, {3, 4}), "v");
  Instruction* const numbers =
      entry->AddParameter(Shape::Array(ElementType::kS32, {3, 1}), "numbers");
  Instruction* const updates = entry->AddParameter(table, "updates");
  LocalBuilder build(&program, entry);
  Instruction* const zeros =
      build.Broadcast(build.Constant(ElementType::kF32, 0), {3, 8});
  Instruction* const rows = build.Unary(Opcode::kNegate, numbers);
  Instruction* const scatter =
      build.Add(Opcode::kScatter, table, {zeros, rows, updates});
  Instruction* const sum = build.Binary(Opcode::kAdd, scatter, zeros);
  Instruction* const first = build.AllGather(v, program.mesh.AllSubAxes(), 1);
  Instruction* const product = build.Binary(Opcode::kMultiply, first, sum);
  Instruction* const last = build.AllGather(v, program.mesh.AllSubAxes(), 1);
  entry->set_root(build.Binary(Opcode::kAdd, product, last));
  program.module.set_entry(entry);
  KeepAllApart(program);
  program.module.Finish();
  for (const auto& instruction : entry->instructions()) {
    for (const Instruction* before : instruction->control_predecessors) {
      EXPECT_EQ(before, rows) << instruction->name;
    }
  }
  EXPECT_EQ(last->control_predecessors, std::vector<Instruction*>{rows});
}

struct DotCase {
  const char* name;
  std::vector<int64_t> left;
  std::vector<int64_t> right;
  DotDimensionNumbers numbers;
  bool waited_for;
};

class WaitsForDotTest : public testing::TestWithParam<DotCase> {};

// XLA makes others into products of matrices, but not while something waits for
// them: it then refuses those of several dimensions, and is slow on the rest.
TEST_P(WaitsForDotTest, OnlyIfItIsAProductOfMatrices) {
  LocalProgram program("program", *Mesh::Parse("2"));
  Computation* const entry = program.module.AddComputation("entry");
  const auto floats = [](std::vector<int64_t> dimensions) {
    return Shape::Array(ElementType::kF32, std::move(dimensions));
  };
  const DotCase& test = GetParam();
  Instruction* const x = entry->AddParameter(floats(test.left), "x");
  Instruction* const y = entry->AddParameter(floats(test.right), "y");
  Instruction* const v = entry->AddParameter(floats({3, 4}), "v");
  LocalBuilder build(&program, entry);
  Instruction* const before = build.Unary(Opcode::kNegate, x);
  Instruction* const dot = build.Add(Opcode::kDot, floats({3, 8}), {before, y});
  dot->attributes.mutate().dot = test.numbers;
  Instruction* const other = build.AllGather(v, program.mesh.AllSubAxes(), 1);
  Instruction* const sum = build.Binary(Opcode::kAdd, other, dot);
  Instruction* const last = build.AllGather(v, program.mesh.AllSubAxes(), 1);
  entry->set_root(build.Binary(Opcode::kAdd, sum, last));
  program.module.set_entry(entry);
  KeepAllApart(program);
  EXPECT_EQ(last->control_predecessors,
            std::vector<Instruction*>{test.waited_for ? dot : before});
}

INSTANTIATE_TEST_SUITE_P(
    Table, WaitsForDotTest,
    testing::ValuesIn<DotCase>({
        {"Matrices", {3, 5}, {5, 8}, {{1}, {0}, {}, {}}, true},
        {"SeveralDimensions", {3, 5, 2}, {5, 2, 8}, {{1, 2}, {0, 1}}, false},
        {"BatchFirst", {2, 3, 5}, {2, 5, 8}, {{2}, {1}, {0}, {0}}, true},
        {"BatchLater", {3, 2, 5}, {2, 5, 8}, {{2}, {1}, {1}, {0}}, false},
        {"SeveralRows", {3, 1, 5}, {5, 8}, {{2}, {0}, {}, {}}, false},
    }),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace meshwright
