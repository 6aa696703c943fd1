#include "meshwright/loops/loop_sources.h"

#include <string>

#include "absl/strings/str_replace.h"
#include "gtest/gtest.h"
#include "meshwright/hlo/read_text.h"
#include "meshwright/hlo/verify.h"

namespace meshwright {
namespace {

// A loop that is given `rows` and writes one pair a time; another that reads
// the pairs from the end.
constexpr char kLoops[] = R"(HloModule m
write {
  p = (s32[], s32[4,8,2], s32[8,1]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  pairs = s32[4,8,2] get-tuple-element(p), index=1
  rows = s32[8,1] get-tuple-element(p), index=2
  one = s32[] constant(1)
  zero = s32[] constant(0)
  columns = s32[8,1] broadcast(i), dimensions={}
  both = s32[8,2] concatenate(rows, columns), dimensions={1}
  slot = s32[1,8,2] reshape(both)
  written = s32[4,8,2] dynamic-update-slice(pairs, slot, i, zero, zero)
  next = s32[] add(i, one)
  ROOT t = (s32[], s32[4,8,2], s32[8,1]) tuple(next, written, rows)
}
more {
  p = (s32[], s32[4,8,2], s32[8,1]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  n = s32[] constant(4)
  ROOT c = pred[] compare(i, n), direction=LT
}
read {
  q = (s32[], s32[4,8,2], s32[8,2]) parameter(0)
  j = s32[] get-tuple-element(q), index=0
  stack = s32[4,8,2] get-tuple-element(q), index=1
  sum = s32[8,2] get-tuple-element(q), index=2
  one = s32[] constant(1)
  zero = s32[] constant(0)
  last = s32[] constant(3)
  at = s32[] subtract(last, j)
  slice = s32[1,8,2] dynamic-slice(stack, at, zero, zero), dynamic_slice_sizes={1,8,2}
  pair = s32[8,2] reshape(slice)
  added = s32[8,2] add(sum, pair)
  next = s32[] add(j, one)
  ROOT t = (s32[], s32[4,8,2], s32[8,2]) tuple(next, stack, added)
}
left {
  q = (s32[], s32[4,8,2], s32[8,2]) parameter(0)
  j = s32[] get-tuple-element(q), index=0
  n = s32[] constant(4)
  ROOT c = pred[] compare(j, n), direction=LT
}
ENTRY main {
  zero = s32[] constant(0)
  none = s32[4,8,2] broadcast(zero), dimensions={}
  start = s32[8,2] broadcast(zero), dimensions={}
  iota = s32[8,1] iota(), iota_dimension=0
  first = (s32[], s32[4,8,2], s32[8,1]) tuple(zero, none, iota)
  wrote = (s32[], s32[4,8,2], s32[8,1]) while(first), condition=more, body=write
  all = s32[4,8,2] get-tuple-element(wrote), index=1
  second = (s32[], s32[4,8,2], s32[8,2]) tuple(zero, all, start)
  done = (s32[], s32[4,8,2], s32[8,2]) while(second), condition=left, body=read
  ROOT result = s32[8,2] get-tuple-element(done), index=2
})";

// The function of the rows and columns of a value, by its name.
std::optional<int64_t> IotaOf(const std::string& text, const std::string& name,
                              int64_t component) {
  const absl::StatusOr<Module> module = ReadModuleText(text);
  EXPECT_TRUE(module.ok()) << module.status();
  EXPECT_TRUE(Verify(*module).ok()) << Verify(*module);
  const IndexSources sources = FindLoopSources(*module);
  for (const auto& computation : module->computations()) {
    for (const auto& instruction : computation->instructions()) {
      if (instruction->name != name) continue;
      const std::optional<AffineIndex> index =
          AffineIndexOf(*instruction, FixedPosition{1, component}, sources);
      return index.has_value() ? IotaDimension(*index) : std::nullopt;
    }
  }
  ADD_FAILURE() << name;
  return std::nullopt;
}

TEST(FindLoopSources, FollowsWhatALoopIsGiven) {
  EXPECT_EQ(IotaOf(kLoops, "both", 0), 0);
  EXPECT_EQ(IotaOf(kLoops, "both", 1), std::nullopt);
}

TEST(FindLoopSources, FollowsWhatAnotherLoopWrote) {
  EXPECT_EQ(IotaOf(kLoops, "pair", 0), 0);
  EXPECT_EQ(IotaOf(kLoops, "pair", 1), std::nullopt);
  // Some slots were never written.
  EXPECT_EQ(
      IotaOf(absl::StrReplaceAll(kLoops, {{"[4,8,2]", "[5,8,2]"}}), "pair", 0),
      std::nullopt);
}

}  // namespace
}  // namespace meshwright
