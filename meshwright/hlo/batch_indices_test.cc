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

TEST(BatchIndicesTest, LongChainsEnd) {
  std::string text = "HloModule m\nENTRY main {\n  v0 = s32[8] iota(), ";
  text += "iota_dimension=0\n";
  for (int i = 1; i < 40; ++i) {
    text += "  v" + std::to_string(i) + " = s32[8] copy(v" +
            std::to_string(i - 1) + ")\n";
  }
  const Module module = Read(text + "  ROOT r = s32[8] negate(v39)\n}");
  EXPECT_EQ(IotaDimension(*module.entry()->instruction(3)), 0);
  EXPECT_EQ(IotaDimension(*module.entry()->instruction(39)), std::nullopt);
}

}  // namespace
}  // namespace meshwright
