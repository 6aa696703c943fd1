#include "meshwright/cost/ragged_work.h"

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "meshwright/hlo/read_text.h"

namespace meshwright {
namespace {

// bf16[32768,1024] by [16,1024,8192].
Module Rows() {
  absl::StatusOr<Module> module = ReadModuleText(R"(HloModule step
ENTRY main {
  x = bf16[32768,1024] parameter(0)
  w = bf16[16,1024,8192] parameter(1)
  sizes = s32[16] parameter(2)
  ROOT y = bf16[32768,8192] ragged-dot(x, w, sizes), lhs_contracting_dims={1}, rhs_contracting_dims={1}, lhs_ragged_dims={0}, rhs_group_dims={0}
}
)");
  EXPECT_TRUE(module.ok()) << module.status();
  return *std::move(module);
}

// 47 blocks of 1024.
TEST(BlockedWorkTest, BlocksAreFilledUp) {
  const Module module = Rows();
  const Instruction& root = *module.entry()->root();
  const auto work = BlockedWorkOf(root, SizesOf(root));
  ASSERT_TRUE(work.has_value());
  EXPECT_EQ(work->times, 47 / 32.0);
  EXPECT_EQ(work->bytes, 2.0 * 47 * (1024 * 1024 + 1024 * 8192 + 1024 * 8192));
}

// A device with two groups has room for all rows.
TEST(BlockedWorkTest, GroupsOfADeviceMayHaveAllRows) {
  const Module module = Rows();
  const Instruction& root = *module.entry()->root();
  const std::vector<int64_t> lhs = {32768, 1024};
  const std::vector<int64_t> rhs = {2, 1024, 8192};
  const std::vector<int64_t> result = {32768, 8192};
  const auto work = BlockedWorkOf(root, {lhs, rhs, result});
  ASSERT_TRUE(work.has_value());
  EXPECT_GE(work->times, 8);
  EXPECT_LE(work->times, 10);
}

// A dimension of the weights that is split makes all of it less.
TEST(BlockedWorkTest, OthersShareTheWork) {
  const Module module = Rows();
  const Instruction& root = *module.entry()->root();
  const std::vector<int64_t> lhs = {32768, 1024};
  const std::vector<int64_t> rhs = {16, 1024, 1024};
  const std::vector<int64_t> result = {32768, 1024};
  const auto work = BlockedWorkOf(root, {lhs, rhs, result});
  ASSERT_TRUE(work.has_value());
  EXPECT_EQ(work->times, 47 / 32.0);
  EXPECT_EQ(work->bytes, 2.0 * 47 * (3 * 1024 * 1024));
}

}  // namespace
}  // namespace meshwright
