#include "meshwright/hlo/op_sharding.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace meshwright {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Kind = OpSharding::Kind;

OpSharding Of(Kind kind) {
  OpSharding sharding;
  sharding.kind = kind;
  return sharding;
}

OpSharding Tiled(std::vector<int64_t> dimensions,
                 std::vector<int64_t> devices) {
  OpSharding sharding = Of(Kind::kTiled);
  sharding.tile_dimensions = std::move(dimensions);
  sharding.devices = std::move(devices);
  return sharding;
}

OpSharding Iota(std::vector<int64_t> dimensions, std::vector<int64_t> reshape,
                std::vector<int32_t> perm) {
  OpSharding sharding = Tiled(std::move(dimensions), {});
  sharding.iota_reshape_dims = std::move(reshape);
  sharding.iota_transpose_perm = std::move(perm);
  return sharding;
}

TEST(OpShardingTest, KindsWithoutTiles) {
  EXPECT_EQ(OpSharding().ToString(), "{replicated}");
  EXPECT_EQ(Of(Kind::kManual).ToString(), "{manual}");
  EXPECT_EQ(Of(Kind::kUnknown).ToString(), "{unknown}");
  EXPECT_EQ(Of(Kind::kUnreduced).ToString(), "{unreduced}");
}

TEST(OpShardingTest, OneDevice) {
  OpSharding sharding = Of(Kind::kMaximal);
  EXPECT_EQ(sharding.ToString(), "{maximal device=0}");
  sharding.devices = {3};
  EXPECT_EQ(sharding.ToString(), "{maximal device=3}");
}

TEST(OpShardingTest, ListedDevices) {
  EXPECT_EQ(Tiled({2, 2}, {0, 2, 1, 3}).ToString(), "{devices=[2,2]0,2,1,3}");
}

TEST(OpShardingTest, IotaReplicatedOverTheLastDimension) {
  OpSharding sharding = Iota({2, 1, 4}, {8}, {0});
  sharding.replicate_on_last_tile_dim = true;
  EXPECT_EQ(sharding.ToString(),
            "{devices=[2,1,4]<=[8] last_tile_dim_replicate}");
}

TEST(OpShardingTest, TransposedIotaWithKindsOfTrailingDimensions) {
  OpSharding sharding = Iota({4, 1, 2}, {2, 4}, {1, 0});
  sharding.last_tile_dims = {Kind::kManual, Kind::kReplicated};
  EXPECT_EQ(
      sharding.ToString(),
      "{devices=[4,1,2]<=[2,4]T(1,0) last_tile_dims={manual, replicated}}");
}

TEST(OpShardingTest, Tuples) {
  OpSharding sharding = Of(Kind::kTuple);
  EXPECT_EQ(sharding.ToString(), "{}");
  sharding.tuple = {OpSharding(), Of(Kind::kManual)};
  EXPECT_EQ(sharding.ToString(), "{{replicated}, {manual}}");
}

TEST(ExpandIotaTest, PlainIotaCountsUp) {
  EXPECT_THAT(*ExpandIota({2, 3}, {0, 1}), ElementsAre(0, 1, 2, 3, 4, 5));
}

TEST(ExpandIotaTest, TransposeReadsColumns) {
  EXPECT_THAT(*ExpandIota({4, 2}, {1, 0}), ElementsAre(0, 2, 4, 6, 1, 3, 5, 7));
}

TEST(ExpandIotaTest, ThreeDimensions) {
  EXPECT_THAT(*ExpandIota({2, 2, 2}, {2, 0, 1}),
              ElementsAre(0, 2, 4, 6, 1, 3, 5, 7));
}

TEST(ExpandIotaTest, NoDimensionsIsDeviceZero) {
  EXPECT_THAT(*ExpandIota({}, {}), ElementsAre(0));
}

TEST(ExpandIotaTest, ManyOnesCostNothing) {
  std::vector<int64_t> dims(1000, 1);
  dims[0] = 1 << 24;
  std::vector<int32_t> perm(1000);
  for (int i = 0; i < 1000; ++i) perm[i] = 999 - i;
  EXPECT_EQ(ExpandIota(dims, perm)->size(), size_t{1} << 24);
}

struct BadIota {
  std::string name;
  std::vector<int64_t> dims;
  std::vector<int32_t> perm;
  std::string want;
};

class ExpandIotaErrorTest : public testing::TestWithParam<BadIota> {};

TEST_P(ExpandIotaErrorTest, IsRefused) {
  const auto devices = ExpandIota(GetParam().dims, GetParam().perm);
  EXPECT_EQ(devices.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(devices.status().message()),
              HasSubstr(GetParam().want));
}

INSTANTIATE_TEST_SUITE_P(
    Table, ExpandIotaErrorTest,
    testing::ValuesIn<BadIota>({
        {"TooFewInPerm", {2, 2}, {0}, "[0] is no permutation of 2 dimensions"},
        {"TwiceTheSame", {2, 2}, {1, 1}, "[1,1] is no permutation"},
        {"OutOfRange", {2, 2}, {0, 2}, "[0,2] is no permutation"},
        {"Negative", {2, 2}, {0, -1}, "[0,-1] is no permutation"},
        {"ZeroSize", {2, 0}, {0, 1}, "[2,0] must be positive"},
        {"NegativeSize", {-2, -2}, {0, 1}, "[-2,-2] must be positive"},
        {"TooMany", {1 << 24, 2}, {0, 1}, "at most 16777216"},
        {"Overflow", {int64_t{1} << 62, 4}, {0, 1}, "at most 16777216"},
    }),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace meshwright
