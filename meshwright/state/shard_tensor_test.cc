#include "meshwright/state/shard_tensor.h"

#include <cstring>
#include <numeric>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/mesh/random_sharding_for_test.h"
#include "meshwright/mesh/sharding_text.h"

namespace meshwright {
namespace {

using testing::ElementsAre;

int64_t Product(const std::vector<int64_t>& dimensions) {
  return std::accumulate(dimensions.begin(), dimensions.end(), int64_t{1},
                         std::multiplies<>());
}

// Element i is i.
Tensor Counting(std::vector<int64_t> dimensions) {
  std::vector<int32_t> values(Product(dimensions));
  std::iota(values.begin(), values.end(), 0);
  Tensor tensor = {.name = "t",
                   .type = ElementType::kS32,
                   .dimensions = std::move(dimensions)};
  tensor.data.assign(reinterpret_cast<const char*>(values.data()),
                     values.size() * sizeof(int32_t));
  return tensor;
}

std::vector<int32_t> Values(const Tensor& tensor) {
  std::vector<int32_t> values(tensor.data.size() / sizeof(int32_t));
  std::memcpy(values.data(), tensor.data.data(), tensor.data.size());
  return values;
}

std::vector<Tensor> ShardAll(const Tensor& tensor, const Sharding& sharding,
                             const Mesh& mesh, char padding = 0) {
  std::vector<Tensor> shards;
  for (int64_t device = 0; device < mesh.device_count(); ++device) {
    shards.push_back(Shard(tensor, sharding, mesh, device, padding));
  }
  return shards;
}

// One element at a time, -1 for padding.
std::vector<int32_t> ShardByHand(const Sharding& sharding, const Mesh& mesh,
                                 int64_t device) {
  std::vector<int32_t> values = {0};
  for (const DimSharding& dim : sharding.dims) {
    std::vector<int32_t> next;
    for (const int32_t major : values) {
      for (const int64_t index : GlobalIndices(dim, mesh, device)) {
        next.push_back(
            major < 0 || index < 0
                ? -1
                : static_cast<int32_t>(major * GlobalSize(dim) + index));
      }
    }
    values = std::move(next);
  }
  return values;
}

TEST(ShardTensorTest, CutsAsTheShardingSays) {
  const Mesh mesh = Mesh::Parse("data=2,model=2").value();
  const Tensor tensor = Counting({4, 4});
  const Sharding sharding =
      ParseSharding("[data, model]", {4, 4}, mesh).value();
  const Tensor shard = Shard(tensor, sharding, mesh, 1);
  EXPECT_EQ(shard.name, "t");
  EXPECT_EQ(shard.type, ElementType::kS32);
  EXPECT_THAT(shard.dimensions, ElementsAre(2, 2));
  EXPECT_THAT(Values(shard), ElementsAre(2, 3, 6, 7));
}

TEST(ShardTensorTest, PaddingIsFilled) {
  const Mesh mesh = Mesh::Parse("4").value();
  const Tensor tensor = Counting({5});
  const Sharding sharding = ParseSharding("[d]", {5}, mesh).value();
  EXPECT_THAT(Values(Shard(tensor, sharding, mesh, 2)), ElementsAre(4, 0));
  EXPECT_THAT(Values(Shard(tensor, sharding, mesh, 3, '\xff')),
              ElementsAre(-1, -1));
}

TEST(ShardTensorTest, ScalarsAndEmptyTensorsAreWholeEverywhere) {
  const Mesh mesh = Mesh::Parse("2").value();
  const Tensor scalar = Counting({});
  EXPECT_EQ(Shard(scalar, Sharding::Replicated({}), mesh, 1), scalar);
  const Tensor empty = Counting({0, 4});
  const Sharding split = ParseSharding("[-, d]", {0, 4}, mesh).value();
  const std::vector<Tensor> shards = ShardAll(empty, split, mesh);
  EXPECT_THAT(shards[1].dimensions, ElementsAre(0, 2));
  EXPECT_EQ(Unshard(shards, split, mesh), empty);
}

TEST(ShardTensorTest, RandomShardingsAreCutAsByHandAndComeBack) {
  for (uint64_t seed = 0; seed < 500; ++seed) {
    RandomSharding random(seed);
    const Mesh mesh = random.NextMesh();
    Sharding sharding = random.Next(mesh);
    sharding.pending.clear();
    sharding.reduction = Reduction::kSum;
    const Tensor tensor = Counting(GlobalDimensions(sharding));
    const std::vector<Tensor> shards = ShardAll(tensor, sharding, mesh, '\xff');
    for (int64_t device = 0; device < mesh.device_count(); ++device) {
      ASSERT_EQ(Values(shards[device]), ShardByHand(sharding, mesh, device))
          << ToString(sharding, mesh);
    }
    ASSERT_EQ(Unshard(shards, sharding, mesh), tensor);
    for (int64_t device = 0; device < mesh.device_count(); ++device) {
      const auto offset = ShardOffset(sharding, mesh, device, sizeof(int32_t));
      const std::string& data = shards[device].data;
      if (offset.has_value()) {
        ASSERT_EQ(tensor.data.substr(*offset, data.size()), data);
      }
    }
    EXPECT_EQ(FindDifference(tensor, shards, sharding, mesh), std::nullopt);
  }
}

TEST(ShardTensorTest, ShardsThatAreOnePieceOfTheTensorAreFound) {
  const Mesh mesh = Mesh::Parse("data=2,model=2").value();
  const auto offset = [&](absl::string_view text,
                          std::vector<int64_t> dimensions, int64_t device) {
    return ShardOffset(ParseSharding(text, dimensions, mesh).value(), mesh,
                       device, 4);
  };
  EXPECT_EQ(offset("[data, -]", {4, 6}, 1), 0);
  EXPECT_EQ(offset("[data, -]", {4, 6}, 2), 48);
  EXPECT_EQ(offset("[(data,model), -]", {4, 6}, 3), 72);
  EXPECT_EQ(offset("[-, model]", {1, 6}, 3), 12);
  EXPECT_EQ(offset("[-, -]", {4, 6}, 3), 0);
  EXPECT_EQ(offset("[]", {}, 3), 0);
  EXPECT_EQ(offset("[-, model]", {2, 6}, 3), std::nullopt);
  EXPECT_EQ(offset("[data]", {5}, 0), 0);
  EXPECT_EQ(offset("[data]", {5}, 2), std::nullopt);  // Padding.
  EXPECT_EQ(offset("[-, model]", {0, 6}, 0), std::nullopt);
}

TEST(ShardTensorTest, CopiesThatDifferAreFound) {
  const Mesh mesh = Mesh::Parse("a=2,b=2").value();
  const Sharding sharding = ParseSharding("[b]", {3}, mesh).value();
  const Tensor tensor = Counting({3});
  std::vector<Tensor> shards = ShardAll(tensor, sharding, mesh);
  shards[3].data[7] = 1;  // Padding.
  EXPECT_EQ(FindDifference(tensor, shards, sharding, mesh), std::nullopt);
  shards[3].data[0] = 9;
  EXPECT_THAT(FirstCopies(sharding, mesh), ElementsAre(0, 1));
  EXPECT_EQ(Unshard(shards, sharding, mesh), tensor);
  EXPECT_EQ(FindDifference(tensor, shards, sharding, mesh), 3);
}

}  // namespace
}  // namespace meshwright
