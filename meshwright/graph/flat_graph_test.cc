#include "meshwright/graph/flat_graph.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/hlo/read_text.h"
#include "meshwright/hlo/verify.h"

namespace meshwright {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Module Read(const std::string& text) {
  absl::StatusOr<Module> module = ReadModuleText(text);
  EXPECT_TRUE(module.ok()) << module.status();
  EXPECT_TRUE(Verify(*module).ok()) << Verify(*module);
  return *std::move(module);
}

char Letter(OpKind kind) {
  constexpr char kLetters[] = "pxcemo";
  return kLetters[static_cast<int>(kind)];
}

// Kinds and instructions of the live ops: "p:a", "x:b".
std::vector<std::string> LiveOps(const FlatGraph& graph) {
  std::vector<std::string> ops;
  for (const FlatOp& op : graph.ops) {
    if (!op.live) continue;
    ops.push_back(std::string{Letter(op.kind), ':'} + op.instruction->name);
  }
  return ops;
}

TEST(FlatGraphTest, TuplesVanish) {
  const Module module = Read(R"(HloModule m
ENTRY main {
  a = f32[4] parameter(0)
  b = f32[4] negate(a)
  both = (f32[4], f32[4]) tuple(a, b)
  first = f32[4] get-tuple-element(both), index=1
  ROOT out = (f32[4]) tuple(first)
})");
  const FlatGraph graph = Flatten(module);
  EXPECT_THAT(LiveOps(graph), ElementsAre("p:a", "x:b", "o:out"));
  const FlatOp& output = graph.ops[graph.outputs[0]];
  EXPECT_EQ(graph.producer(output.operands[0]).instruction->name, "b");
}

TEST(FlatGraphTest, CallsAreWalkedInto) {
  const Module module = Read(R"(HloModule m
twice {
  x = f32[4] parameter(0)
  ROOT y = f32[4] add(x, x)
}
ENTRY main {
  a = f32[4] parameter(0)
  b = f32[4] call(a), to_apply=twice
  ROOT c = f32[4] call(b), to_apply=twice
})");
  const FlatGraph graph = Flatten(module);
  // One for each call.
  EXPECT_THAT(LiveOps(graph), ElementsAre("p:a", "x:y", "x:y", "o:c"));
  const FlatOp& second = graph.ops[2];
  EXPECT_EQ(graph.values[second.operands[0]].producer, 1);
}

TEST(FlatGraphTest, EqualOnesAreOneAndDeadOnesAreDead) {
  const Module module = Read(R"(HloModule m
ENTRY main {
  a = f32[4] parameter(0)
  b = f32[4] tanh(a)
  c = f32[4] tanh(a)
  unused = f32[4] negate(a)
  ROOT d = f32[4] add(b, c)
})");
  const FlatGraph graph = Flatten(module);
  EXPECT_THAT(LiveOps(graph), ElementsAre("p:a", "x:b", "x:d", "o:d"));
  EXPECT_EQ(graph.regions[0].items.size(), 2u);  // b and d.
}

constexpr char kLoop[] = R"(HloModule m
condition {
  state = (s32[], f32[4], f32[4]) parameter(0)
  i = s32[] get-tuple-element(state), index=0
  n = s32[] constant(5)
  ROOT go_on = pred[] compare(i, n), direction=LT
}
body {
  state.1 = (s32[], f32[4], f32[4]) parameter(0)
  i.1 = s32[] get-tuple-element(state.1), index=0
  one = s32[] constant(1)
  next = s32[] add(i.1, one)
  x = f32[4] get-tuple-element(state.1), index=1
  w = f32[4] get-tuple-element(state.1), index=2
  y = f32[4] multiply(x, w)
  ROOT result = (s32[], f32[4], f32[4]) tuple(next, y, w)
}
ENTRY main {
  a = f32[4] parameter(0)
  b = f32[4] parameter(1)
  zero = s32[] constant(0)
  start = (s32[], f32[4], f32[4]) tuple(zero, a, b)
  loop = (s32[], f32[4], f32[4]) while(start), condition=condition, body=body
  ROOT out = f32[4] get-tuple-element(loop), index=1
})";

TEST(FlatGraphTest, LoopsCarryArrays) {
  const Module module = Read(kLoop);
  const FlatGraph graph = Flatten(module);
  ASSERT_EQ(graph.loops.size(), 1u);
  const Loop& loop = graph.loops[0];
  ASSERT_EQ(loop.carries.size(), 3u);
  const FlatOp& x = graph.ops[loop.carries[1]];
  EXPECT_EQ(x.kind, OpKind::kCarry);
  // The start, and what an iteration makes of it.
  ASSERT_EQ(x.operands.size(), 2u);
  EXPECT_EQ(graph.producer(x.operands[0]).instruction->name, "a");
  const FlatOp& y = graph.producer(x.operands[1]);
  EXPECT_EQ(y.instruction->name, "y");
  EXPECT_EQ(y.repeats, 5);
  EXPECT_EQ(y.region, loop.body);
  EXPECT_EQ(graph.producer(loop.go_on).instruction->name, "go_on");
  // Both the body and what comes after the loop see the carry.
  EXPECT_EQ(graph.ops[graph.outputs[0]].operands[0], x.first_result);
  EXPECT_EQ(y.operands[0], x.first_result);
}

TEST(FlatGraphTest, LoopsWithinLoopsRepeatAsOften) {
  const Module module = Read(R"(HloModule m
inner_condition {
  state = (s32[], f32[4]) parameter(0)
  i = s32[] get-tuple-element(state), index=0
  n = s32[] constant(5)
  ROOT go_on = pred[] compare(i, n), direction=LT
}
inner_body {
  state.1 = (s32[], f32[4]) parameter(0)
  i.1 = s32[] get-tuple-element(state.1), index=0
  one = s32[] constant(1)
  next = s32[] add(i.1, one)
  x = f32[4] get-tuple-element(state.1), index=1
  y = f32[4] tanh(x)
  ROOT result = (s32[], f32[4]) tuple(next, y)
}
outer_condition {
  state.2 = (s32[], f32[4]) parameter(0)
  j = s32[] get-tuple-element(state.2), index=0
  m = s32[] constant(3)
  ROOT go_on.1 = pred[] compare(j, m), direction=LT
}
outer_body {
  state.3 = (s32[], f32[4]) parameter(0)
  j.1 = s32[] get-tuple-element(state.3), index=0
  one.1 = s32[] constant(1)
  next.1 = s32[] add(j.1, one.1)
  z = f32[4] get-tuple-element(state.3), index=1
  zero.1 = s32[] constant(0)
  start.1 = (s32[], f32[4]) tuple(zero.1, z)
  inner = (s32[], f32[4]) while(start.1), condition=inner_condition, body=inner_body
  made = f32[4] get-tuple-element(inner), index=1
  ROOT result.1 = (s32[], f32[4]) tuple(next.1, made)
}
ENTRY main {
  a = f32[4] parameter(0)
  zero = s32[] constant(0)
  start = (s32[], f32[4]) tuple(zero, a)
  outer = (s32[], f32[4]) while(start), condition=outer_condition, body=outer_body
  ROOT out = f32[4] get-tuple-element(outer), index=1
})");
  const FlatGraph graph = Flatten(module);
  ASSERT_EQ(graph.loops.size(), 2u);
  int seen = 0;
  for (const FlatOp& op : graph.ops) {
    if (!op.live || op.instruction->name != "y") continue;
    EXPECT_EQ(op.repeats, 15);
    const FlatOp& carry = graph.producer(op.operands[0]);
    EXPECT_EQ(carry.kind, OpKind::kCarry);
    // Each iteration of the outer loop begins the inner one once.
    EXPECT_EQ(carry.entries, 3);
    ++seen;
  }
  EXPECT_EQ(seen, 1);
}

TEST(FlatGraphTest, BranchesEnterAndMerge) {
  const Module module = Read(R"(HloModule m
yes {
  x = f32[4] parameter(0)
  ROOT y = f32[4] tanh(x)
}
no {
  x.1 = f32[4] parameter(0)
  ROOT z = f32[4] negate(x.1)
}
ENTRY main {
  p = pred[] parameter(0)
  a = f32[4] parameter(1)
  ROOT r = f32[4] conditional(p, a, a), true_computation=yes, false_computation=no
})");
  const FlatGraph graph = Flatten(module);
  ASSERT_EQ(graph.branches.size(), 1u);
  const Branch& branch = graph.branches[0];
  EXPECT_EQ(graph.producer(branch.selector).instruction->name, "p");
  ASSERT_EQ(branch.merges.size(), 1u);
  const FlatOp& merge = graph.ops[branch.merges[0]];
  std::vector<std::string> made;
  for (const ValueId value : merge.operands) {
    made.push_back(graph.producer(value).instruction->name);
  }
  EXPECT_THAT(made, ElementsAre("y", "z"));
  const FlatOp& enter = graph.ops[branch.enters[0][0]];
  EXPECT_EQ(enter.kind, OpKind::kEnter);
  EXPECT_EQ(graph.producer(enter.operands[0]).instruction->name, "a");
}

TEST(FlatGraphTest, UsersAreTheLiveOnes) {
  const Module module = Read(kLoop);
  const FlatGraph graph = Flatten(module);
  const std::vector<std::vector<OpId>> users = UsersOf(graph);
  for (size_t value = 0; value < users.size(); ++value) {
    for (const OpId user : users[value]) EXPECT_TRUE(graph.ops[user].live);
  }
  const FlatGraph none =
      Restricted(graph, std::vector<bool>(graph.ops.size(), false));
  EXPECT_THAT(LiveOps(none), IsEmpty());
}

}  // namespace
}  // namespace meshwright
