// Which sorts may be of blocks, and which may not.
#include "meshwright/microbatch/sort_in_blocks.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gtest/gtest.h"
#include "meshwright/hlo/read_text.h"
#include "meshwright/hlo/verify.h"
#include "meshwright/microbatch/row_orders.h"

namespace meshwright {
namespace {

// 16 rows of 8 tokens, two experts each of four.
constexpr char kRouting[] = R"(
HloModule routing

less {
  a = s32[] parameter(0)
  b = s32[] parameter(1)
  c = s32[] parameter(2)
  d = s32[] parameter(3)
  ROOT l = pred[] compare(a, b), direction=LT
}

plus {
  e = f32[] parameter(0)
  f = f32[] parameter(1)
  ROOT g = f32[] add(e, f)
}

count {
  h = s32[] parameter(0)
  i = s32[] parameter(1)
  ROOT j = s32[] add(h, i)
}

ENTRY main {
  x = f32[8,3]{1,0} parameter(0)
  scores = f32[8,4]{1,0} parameter(1)
  w = f32[4,3,5]{2,1,0} parameter(2)
  best = (f32[8,2]{1,0}, s32[8,2]{1,0}) topk(scores), k=2, largest=true
  experts = s32[8,2]{1,0} get-tuple-element(best), index=1
  keys = s32[16]{0} reshape(experts)
  iota = s32[16]{0} iota(), iota_dimension=0
  sorted = (s32[16]{0}, s32[16]{0}) sort(keys, iota), dimensions={0}, is_stable=true, to_apply=less
  order = s32[16]{0} get-tuple-element(sorted), index=1
  two = s32[] constant(2)
  twos = s32[16]{0} broadcast(two), dimensions={}
  token = s32[16]{0} divide(order, twos)
  at = s32[16,1]{1,0} reshape(token)
  zero = s32[] constant(0)
  none = s32[4]{0} broadcast(zero), dimensions={}
  one = s32[] constant(1)
  ones = s32[16]{0} broadcast(one), dimensions={}
  key = s32[16,1]{1,0} reshape(keys)
  sizes = s32[4]{0} scatter(none, key, ones), update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=count
  sent = f32[16,3]{1,0} gather(x, at), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,3}
  done = f32[16,5]{1,0} ragged-dot(sent, w, sizes), lhs_contracting_dims={1}, rhs_contracting_dims={1}, lhs_ragged_dims={0}, rhs_group_dims={0}
  fzero = f32[] constant(0)
  zeros = f32[8,5]{1,0} broadcast(fzero), dimensions={}
  result = f32[8,5]{1,0} scatter(zeros, at, done), update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=plus
  ROOT out = (f32[8,5]{1,0}) tuple(result)
}
)";

absl::StatusOr<Module> Routing(const std::string& from, const std::string& to) {
  return ReadModuleText(absl::StrReplaceAll(kRouting, {{from, to}}));
}

TEST(SortInBlocksTest, EverythingGetsADimensionOfBlocks) {
  const absl::StatusOr<Module> module = Routing("", "");
  ASSERT_TRUE(module.ok()) << module.status();
  const std::optional<Module> blocks = SortInBlocks(*module, 4);
  ASSERT_TRUE(blocks.has_value());
  EXPECT_TRUE(Verify(*blocks).ok()) << Verify(*blocks);
  std::string shapes;
  for (const auto& op : blocks->entry()->instructions()) {
    for (const Opcode opcode :
         {Opcode::kSort, Opcode::kGather, Opcode::kRaggedDot}) {
      if (op->opcode == opcode) {
        absl::StrAppend(&shapes, op->shape.ToString(), " ");
      }
    }
  }
  EXPECT_EQ(shapes, "(s32[4,4], s32[4,4]) f32[4,4,3] f32[4,4,5] ");
}

// As many blocks as there are devices, or fewer, where rows stay in theirs.
TEST(SortInBlocksTest, AsManyBlocksAsMayBe) {
  const absl::StatusOr<Module> module = Routing("", "");
  ASSERT_TRUE(module.ok()) << module.status();
  const auto blocks = [&](int64_t count, int64_t times) -> int64_t {
    const std::optional<Module> sorted = SortInBlocks(*module, count, times);
    if (!sorted.has_value()) return 1;
    for (const auto& op : sorted->entry()->instructions()) {
      if (op->opcode == Opcode::kSort) {
        return op->operand_shape(0).dimensions[0];
      }
    }
    return 0;
  };
  EXPECT_EQ(blocks(1, 4), 4);
  EXPECT_EQ(blocks(2, 4), 8);
  EXPECT_EQ(blocks(1, 16), 8);  // One row would be half a token.
  EXPECT_EQ(blocks(1, 12), 4);
  EXPECT_EQ(blocks(1, 3), 1);
}

struct Case {
  const char* name;
  const char* from;
  const char* to;
};

class NotInBlocksTest : public testing::TestWithParam<Case> {};

TEST_P(NotInBlocksTest, IsNotRewritten) {
  const absl::StatusOr<Module> module = Routing(GetParam().from, GetParam().to);
  ASSERT_TRUE(module.ok()) << module.status();
  ASSERT_TRUE(Verify(*module).ok()) << Verify(*module);
  EXPECT_FALSE(SortInBlocks(*module, 4).has_value());
}

INSTANTIATE_TEST_SUITE_P(
    Cases, NotInBlocksTest,
    testing::Values(
        Case{"positions_of_rows", "divide(order, twos)", "add(order, iota)"},
        Case{"rows_by_rows", "ROOT out = (f32[8,5]{1,0}) tuple(result)",
             "pairs = f32[16,16]{1,0} dot(sent, sent), lhs_contracting_dims="
             "{1}, rhs_contracting_dims={1}\n  top = f32[16]{0} reduce(pairs, "
             "fzero), dimensions={0}, to_apply=plus\n  sum = f32[] reduce(top, "
             "fzero), dimensions={0}, to_apply=plus\n  "
             "ROOT out = (f32[8,5]{1,0}, f32[]) tuple(result, sum)"},
        Case{"rows_go_out", "ROOT out = (f32[8,5]{1,0}) tuple(result)",
             "ROOT out = (f32[8,5]{1,0}, f32[16,5]{1,0}) tuple(result, done)"},
        Case{"counts_of_others", "key = s32[16,1]{1,0} reshape(keys)",
             "key = s32[16,1]{1,0} reshape(iota)"},
        Case{"counts_twice", "one = s32[] constant(1)",
             "one = s32[] constant(2)"},
        Case{"largest_first", "compare(a, b), direction=LT",
             "compare(a, b), direction=GT"},
        Case{"more_experts_than_groups", "scores = f32[8,4]",
             "scores = f32[8,6]"},
        Case{"last_wins", "ROOT g = f32[] add(e, f)",
             "ROOT g = f32[] subtract(e, f)"}),
    [](const auto& test) { return test.param.name; });

// Tokens that are not in their own block are looked up among all.
TEST(SortInBlocksTest, RowsOfOtherBlocksAreTakenFromAll) {
  const absl::StatusOr<Module> module =
      Routing("token = s32[16]{0} divide(order, twos)",
              "token = s32[16]{0} remainder(order, twos)");
  ASSERT_TRUE(module.ok()) << module.status();
  const std::optional<Module> blocks = SortInBlocks(*module, 4);
  ASSERT_TRUE(blocks.has_value());
  const bool takes_whole =
      std::ranges::any_of(blocks->entry()->instructions(), [](const auto& op) {
        return op->opcode == Opcode::kGather && op->shape.rank() == 2;
      });
  EXPECT_TRUE(takes_whole);
}

}  // namespace
}  // namespace meshwright
