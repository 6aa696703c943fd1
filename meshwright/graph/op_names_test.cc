#include "meshwright/graph/op_names.h"

#include <set>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/hlo/read_text.h"

namespace meshwright {
namespace {

using ::testing::IsSupersetOf;

std::vector<std::string> NamesOf(const Module& module) {
  return OpNames(Flatten(module));
}

TEST(OpNamesTest, FollowInstructions) {
  const absl::StatusOr<Module> module = ReadModuleText(R"(HloModule m
condition {
  c = (s32[], f32[4]) parameter(0)
  i = s32[] get-tuple-element(c), index=0
  n = s32[] constant(3)
  ROOT less = pred[] compare(i, n), direction=LT
}
body {
  c2 = (s32[], f32[4]) parameter(0)
  i2 = s32[] get-tuple-element(c2), index=0
  x2 = f32[4] get-tuple-element(c2), index=1
  one = s32[] constant(1)
  next = s32[] add(i2, one)
  twice = f32[4] add(x2, x2)
  ROOT both = (s32[], f32[4]) tuple(next, twice)
}
ENTRY main {
  x = f32[4] parameter(0)
  zero = s32[] constant(0)
  start = (s32[], f32[4]) tuple(zero, x)
  loop = (s32[], f32[4]) while(start), condition=condition, body=body
  y = f32[4] get-tuple-element(loop), index=1
  ROOT out = (f32[4]) tuple(y)
})");
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_THAT(NamesOf(*module), IsSupersetOf({"x", "zero", "loop[0]", "loop[1]",
                                              "less", "twice", "output[0]"}));
}

// What is called twice has other operands each time, so ops of its own.
TEST(OpNamesTest, AreUnique) {
  const absl::StatusOr<Module> module = ReadModuleText(R"(HloModule m
square {
  p = f32[4] parameter(0)
  ROOT q = f32[4] multiply(p, p)
}
ENTRY main {
  a = f32[4] parameter(0)
  b = f32[4] call(a), to_apply=square
  c = f32[4] call(b), to_apply=square
  ROOT d = f32[4] call(c), to_apply=square
})");
  ASSERT_TRUE(module.ok()) << module.status();
  const std::vector<std::string> names = NamesOf(*module);
  EXPECT_THAT(names, IsSupersetOf({"a", "q", "q(2)", "q(3)", "output[0]"}));
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(),
            names.size());
}

TEST(OpNamesTest, ResultsHaveNumbers) {
  const absl::StatusOr<Module> module = ReadModuleText(R"(HloModule m
less {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  c = s32[] parameter(2)
  d = s32[] parameter(3)
  ROOT r = pred[] compare(a, b), direction=LT
}
ENTRY main {
  keys = f32[4] parameter(0)
  values = s32[4] parameter(1)
  ROOT sorted = (f32[4], s32[4]) sort(keys, values), dimensions={0}, to_apply=less
})");
  ASSERT_TRUE(module.ok()) << module.status();
  const FlatGraph graph = Flatten(*module);
  EXPECT_THAT(ValueNames(graph, OpNames(graph)),
              IsSupersetOf({"keys", "values", "sorted", "sorted:1"}));
}

}  // namespace
}  // namespace meshwright
