#include "meshwright/hlo/batch_indices.h"

#include <string>

#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/hlo/print_module.h"
#include "meshwright/hlo/read_text.h"
#include "meshwright/hlo/verify.h"

namespace meshwright {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Module Read(const std::string& text) {
  absl::StatusOr<Module> module = ReadModuleText(text);
  EXPECT_TRUE(module.ok()) << module.status();
  EXPECT_TRUE(Verify(*module).ok()) << Verify(*module);
  return *std::move(module);
}

std::string Batched(const std::string& text) {
  Module module = Read(text);
  BatchIndices(module);
  EXPECT_TRUE(Verify(module).ok()) << Verify(module);
  return ToString(module);
}

// x[arange(8), i], as jax writes it.
constexpr char kGather[] = R"(HloModule m
ENTRY main {
  x = f32[8,64] parameter(0)
  i = s32[8] parameter(1)
  iota = s32[8] iota(), iota_dimension=0
  zero = s32[] constant(0)
  zeros = s32[8] broadcast(zero), dimensions={}
  is_less = pred[8] compare(iota, zeros), direction=LT
  eight = s32[] constant(8)
  eights = s32[8] broadcast(eight), dimensions={}
  sum = s32[8] add(iota, eights)
  wrapped = s32[8] select(is_less, sum, iota)
  rows = s32[8,1] reshape(wrapped)
  columns = s32[8,1] reshape(i)
  both = s32[8,2] concatenate(rows, columns), dimensions={1}
  ROOT y = f32[8] gather(x, both), offset_dims={}, collapsed_slice_dims={0,1}, start_index_map={0,1}, index_vector_dim=1, slice_sizes={1,1}
})";

TEST(BatchIndicesTest, OfAGather) {
  EXPECT_THAT(
      Batched(kGather),
      HasSubstr("gather(x, columns), offset_dims={}, collapsed_slice_dims={1}, "
                "start_index_map={1}, operand_batching_dims={0}, "
                "start_indices_batching_dims={0}, index_vector_dim=1"));
}

TEST(BatchIndicesTest, OnlyWhereEveryExampleIsMeant) {
  // Of nine rows the first eight.
  EXPECT_THAT(Batched(absl::StrReplaceAll(kGather, {{"[8,64]", "[9,64]"}})),
              HasSubstr("gather(x, both)"));
  // In another order.
  EXPECT_THAT(
      Batched(absl::StrReplaceAll(
          kGather, {{"reshape(wrapped)", "reshape(reversed)"},
                    {"rows =",
                     "reversed = s32[8] reverse(iota), dimensions={0}\n  "
                     "rows ="}})),
      HasSubstr("gather(x, both)"));
  // Not what counts from the end.
  EXPECT_THAT(
      Batched(absl::StrReplaceAll(kGather, {{"direction=LT", "direction=GT"}})),
      HasSubstr("gather(x, both)"));
}

TEST(BatchIndicesTest, OfAScatterOfThreeComponents) {
  const std::string text = Batched(R"(HloModule m
add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}
ENTRY main {
  x = f32[8,4,64] parameter(0)
  i = s32[8,5,1] parameter(1)
  j = s32[8,5,1] parameter(2)
  u = f32[8,5] parameter(3)
  iota = s64[8,1] iota(), iota_dimension=0
  narrow = s32[8,1] convert(iota)
  rows = s32[8,5,1] broadcast(narrow), dimensions={0,2}
  all = s32[8,5,3] concatenate(i, rows, j), dimensions={2}
  ROOT y = f32[8,4,64] scatter(x, all, u), update_window_dims={}, inserted_window_dims={0,1,2}, scatter_dims_to_operand_dims={1,0,2}, index_vector_dim=2, indices_are_sorted=true, to_apply=add
})");
  EXPECT_THAT(text, HasSubstr("s32[8,5,2]{2,1,0} concatenate(i, j)"));
  EXPECT_THAT(text, HasSubstr("inserted_window_dims={1,2}, "
                              "scatter_dims_to_operand_dims={1,2}, "
                              "input_batching_dims={0}, "
                              "scatter_indices_batching_dims={0}"));
  EXPECT_THAT(text, Not(HasSubstr("indices_are_sorted")));
}

TEST(BatchIndicesTest, ThroughWhatIsDoneToAllComponentsAtOnce) {
  // As numpy's negative indices and mode="clip" are written for a vector.
  const std::string text = Batched(R"(HloModule m
ENTRY main {
  x = f32[8,64] parameter(0)
  i = s32[8,1] parameter(1)
  rows = s32[8,1] constant({{0}, {1}, {2}, {3}, {4}, {5}, {6}, {7}})
  both = s32[8,2] concatenate(rows, i), dimensions={1}
  zero = s32[] constant(0)
  last = s32[2] constant({7, 63})
  lasts = s32[8,2] broadcast(last), dimensions={1}
  within = s32[8,2] clamp(zero, both, lasts)
  wide = s64[8,2] convert(within)
  ROOT y = f32[8] gather(x, wide), offset_dims={}, collapsed_slice_dims={0,1}, start_index_map={0,1}, index_vector_dim=1, slice_sizes={1,1}
})");
  EXPECT_THAT(text, HasSubstr("slice(wide), slice={[0:8], [1:2]}"));
  EXPECT_THAT(text, HasSubstr("collapsed_slice_dims={1}, start_index_map={1}, "
                              "operand_batching_dims={0}"));
  EXPECT_THAT(Batched(absl::StrReplaceAll(kGather, {{"s32[8] iota(), "
                                                     "iota_dimension=0",
                                                     "s32[8] constant({0, 1, "
                                                     "2, 3, 4, 5, 7, 6})"}})),
              HasSubstr("gather(x, both)"));
}

// logp[arange(8)[:, None], arange(4)[None], y] and its gradient.
TEST(BatchIndicesTest, OfTwoIotasWithNamesOfTheirOwn) {
  const std::string text = Batched(R"(HloModule m
add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}
ENTRY main {
  x = f32[8,4,64] parameter(0)
  i = s32[8,4,1] parameter(1)
  rows = s32[8,4,1] iota(), iota_dimension=0
  columns = s32[8,4,1] iota(), iota_dimension=1
  all = s32[8,4,3] concatenate(rows, columns, i), dimensions={2}
  y = f32[8,4] gather(x, all), offset_dims={}, collapsed_slice_dims={0,1,2}, start_index_map={0,1,2}, index_vector_dim=2, slice_sizes={1,1,1}
  ROOT z = f32[8,4,64] scatter(x, all, y), update_window_dims={}, inserted_window_dims={0,1,2}, scatter_dims_to_operand_dims={0,1,2}, index_vector_dim=2, to_apply=add
})");
  EXPECT_THAT(text, HasSubstr("gather(x, i)"));
  EXPECT_THAT(text, HasSubstr("scatter(x, i, y)"));
  EXPECT_THAT(text, HasSubstr("operand_batching_dims={0,1}"));
  EXPECT_THAT(text, HasSubstr("input_batching_dims={0,1}"));
}

// l[arange(8), arange(8)]: the diagonal, which is parallel in one of the two.
TEST(BatchIndicesTest, OfADiagonal) {
  EXPECT_THAT(
      Batched(absl::StrReplaceAll(
          kGather, {{"[8,64]", "[8,8]"}, {"reshape(i)", "reshape(iota)"}})),
      HasSubstr("gather(x, columns), offset_dims={}, collapsed_slice_dims={1}, "
                "start_index_map={1}, operand_batching_dims={0}"));
}

// x[arange(8)]: nothing else is indexed.
TEST(BatchIndicesTest, OfAnIotaAlone) {
  constexpr char kRows[] = R"(HloModule m
ENTRY main {
  x = f32[8,64] parameter(0)
  iota = s32[8] iota(), iota_dimension=0
  ROOT y = f32[8,64] gather(x, iota), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,64}
})";
  EXPECT_THAT(Batched(kRows),
              HasSubstr("gather(x, iota.batched.1), offset_dims={1}, "
                        "collapsed_slice_dims={}, start_index_map={1}, "
                        "operand_batching_dims={0}"));
  EXPECT_THAT(
      Batched(absl::StrReplaceAll(kRows, {{"[8,64]", "[8]"},
                                          {"offset_dims={1}", "offset_dims={}"},
                                          {"{1,64}", "{1}"}})),
      HasSubstr("gather(x, iota)"));
}

}  // namespace
}  // namespace meshwright
