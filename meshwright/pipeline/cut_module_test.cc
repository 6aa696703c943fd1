#include "meshwright/pipeline/cut_module.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/analysis/small_step_for_test.h"

namespace meshwright {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> ParametersOf(const CutProgram& program) {
  std::vector<std::string> names;
  for (const Instruction* parameter : program.module.entry()->Parameters()) {
    names.push_back(parameter->name);
  }
  return names;
}

std::vector<std::string> ResultsOf(const ModuleCut& cut, int program) {
  std::vector<std::string> names;
  for (const int32_t value : cut.programs[program].results) {
    names.push_back(cut.values[value].instruction->name);
  }
  return names;
}

// a = x * w0, m = sum(a), b = a * w1 -> (b, m, w1)
struct Example : SmallStep {
  Example() {
    Instruction* x = Parameter("x", 8);
    Instruction* w0 = Parameter("w0", 8);
    Instruction* w1 = Parameter("w1", 8);
    a = Binary(Opcode::kMultiply, "a", x, w0);
    m = Sum("m", a);
    wide = Broadcast("wide", m, 8);
    b = Binary(Opcode::kMultiply, "b", a, w1);
    c = Binary(Opcode::kAdd, "c", b, wide);
    Return({c, m, w1});
  }

  absl::StatusOr<ModuleCut> Cut(int32_t of_a, int32_t of_b) const {
    std::vector<int32_t> program_of(entry->size(), 0);
    program_of[a->id] = of_a;
    program_of[m->id] = of_a;
    program_of[b->id] = of_b;
    program_of[c->id] = of_b;
    return CutModule(module, MakeCutGraph(*entry), program_of, 2);
  }

  Instruction *a, *m, *wide, *b, *c;
};

TEST(CutModuleTest, NamesWhatPassesBetweenPrograms) {
  const Example example;
  const absl::StatusOr<ModuleCut> cut = example.Cut(0, 1);
  ASSERT_TRUE(cut.ok()) << cut.status();
  EXPECT_THAT(ParametersOf(cut->programs[0]), ElementsAre("x", "w0"));
  EXPECT_THAT(ResultsOf(*cut, 0), ElementsAre("a", "m"));
  // The broadcast is made again of the scalar.
  EXPECT_THAT(ParametersOf(cut->programs[1]), ElementsAre("w1", "a", "m"));
  EXPECT_THAT(ResultsOf(*cut, 1), ElementsAre("c"));
  EXPECT_THAT(cut->values[0].users, ElementsAre(1));
  EXPECT_FALSE(cut->values[0].is_output);
  EXPECT_TRUE(cut->values[1].is_output);
  EXPECT_THAT(cut->outputs,
              ElementsAre(CutSource{CutSource::Kind::kValue, 2},
                          CutSource{CutSource::Kind::kValue, 1},
                          CutSource{CutSource::Kind::kParameter, 2}));
}

TEST(CutModuleTest, RefusesToGoBack) {
  const Example example;
  const absl::StatusOr<ModuleCut> cut = example.Cut(1, 0);
  ASSERT_FALSE(cut.ok());
  EXPECT_EQ(cut.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(cut.status().message()),
              HasSubstr("in program 0 needs m of program 1"));
}

TEST(CutModuleTest, AProgramMayHaveNothingToDo) {
  const Example example;
  const absl::StatusOr<ModuleCut> cut = example.Cut(1, 1);
  ASSERT_TRUE(cut.ok()) << cut.status();
  EXPECT_TRUE(cut->programs[0].results.empty());
  EXPECT_THAT(ResultsOf(*cut, 1), ElementsAre("m", "c"));
}

TEST(CutGraphTest, LooksThroughWhatIsCopied) {
  const Example example;
  const CutGraph graph = MakeCutGraph(*example.entry);
  EXPECT_TRUE(graph.copied[example.wide->id]);
  EXPECT_FALSE(graph.trivial[example.wide->id]);
  EXPECT_THAT(graph.sources[example.c->id], ElementsAre(example.b, example.m));
  EXPECT_FALSE(graph.IsNode(example.wide->id));
  EXPECT_TRUE(graph.IsNode(example.b->id));
}

TEST(CutGraphTest, ScalarsOfParametersAreTrivial) {
  SmallStep step;
  Instruction* count = step.Scalar("count");
  Instruction* next = step.Binary(Opcode::kAdd, "next", count, step.One("one"));
  Instruction* x = step.Parameter("x", 4);
  Instruction* y = step.Unary(Opcode::kNegate, "y", x);
  step.Return({next, y});
  const CutGraph graph = MakeCutGraph(*step.entry);
  EXPECT_TRUE(graph.trivial[next->id]);
  EXPECT_FALSE(graph.trivial[y->id]);
}

// As many ways as 2^60 lead through what is copied; it is gone through once.
TEST(CutGraphTest, LooksThroughManyWaysOnce) {
  SmallStep step;
  Instruction* value = step.Scalar("count");
  for (int i = 0; i < 60; ++i) {
    value = step.Binary(Opcode::kAdd, "next" + std::to_string(i), value, value);
  }
  Instruction* x = step.Parameter("x", 4);
  Instruction* y = step.Unary(Opcode::kNegate, "y", x);
  step.Return({value, y});
  const CutGraph graph = MakeCutGraph(*step.entry);
  ASSERT_TRUE(graph.copied[value->id]);
  EXPECT_EQ(SourcesOf(graph, *value).size(), 1u);
}

}  // namespace
}  // namespace meshwright
