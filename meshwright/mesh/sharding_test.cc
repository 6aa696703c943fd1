#include "meshwright/mesh/sharding.h"

#include <map>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/mesh/random_sharding_for_test.h"

namespace meshwright {
namespace {

using testing::ElementsAre;

std::vector<Part> AsParts(absl::Span<const int64_t> sizes,
                          const std::vector<AxisList>& axes) {
  std::vector<Part> parts;
  for (size_t i = 0; i < sizes.size(); ++i)
    parts.push_back({sizes[i], axes[i]});
  return parts;
}

// The same by asking of every global index whether it is on the device.
std::vector<int64_t> IndicesByHand(absl::Span<const Part> parts,
                                   const Mesh& mesh, int64_t device) {
  int64_t total = 1;
  for (const Part& part : parts) total *= part.size;
  std::vector<int64_t> result;
  for (int64_t index = 0; index < total; ++index) {
    bool here = true;
    int64_t rest = index;
    for (size_t i = parts.size(); i-- > 0;) {
      const int64_t digit = rest % parts[i].size;
      rest /= parts[i].size;
      const int64_t shards = mesh.Size(parts[i].axes);
      const int64_t local = (parts[i].size + shards - 1) / shards;
      here = here && digit / local == mesh.Coordinate(device, parts[i].axes);
    }
    if (here) result.push_back(index);
  }
  return result;
}

std::vector<std::vector<int64_t>> AllIndices(const DimSharding& dim,
                                             const Mesh& mesh) {
  std::vector<std::vector<int64_t>> result;
  for (int64_t device = 0; device < mesh.device_count(); ++device) {
    result.push_back(GlobalIndices(dim, mesh, device));
  }
  return result;
}

TEST(ShardingTest, LocalSizesFollowTheAxes) {
  const Mesh mesh = ParseMesh("data=4,model=2");
  Sharding sharding = Sharding::Replicated({8, 6, 10});
  EXPECT_TRUE(IsReplicated(sharding));
  sharding.dims[0][0].axes = mesh.SubAxes(0);
  sharding.dims[2][0].axes = mesh.SubAxes(1);
  EXPECT_FALSE(IsReplicated(sharding));
  EXPECT_THAT(LocalDimensions(sharding, mesh), ElementsAre(2, 6, 5));
  EXPECT_THAT(GlobalDimensions(sharding), ElementsAre(8, 6, 10));
  EXPECT_THAT(SplitAxes(sharding), ElementsAre(0, 1, 2));
}

TEST(ShardingTest, AnUnevenSplitEndsInPadding) {
  const Mesh mesh = ParseMesh("a=4");
  const DimSharding dim = {{5, mesh.SubAxes(0)}};
  EXPECT_FALSE(IsEven(dim, mesh));
  EXPECT_EQ(LocalSize(dim, mesh), 2);
  EXPECT_THAT(AllIndices(dim, mesh),
              ElementsAre(ElementsAre(0, 1), ElementsAre(2, 3),
                          ElementsAre(4, -1), ElementsAre(-1, -1)));
}

TEST(ShardingTest, AStridedSplitTakesAPieceOfEachPart) {
  const Mesh mesh = ParseMesh("a=2");
  const DimSharding dim = {{3, {}}, {4, mesh.SubAxes(0)}};
  EXPECT_TRUE(IsStrided(dim));
  EXPECT_THAT(AllIndices(dim, mesh),
              ElementsAre(ElementsAre(0, 1, 4, 5, 8, 9),
                          ElementsAre(2, 3, 6, 7, 10, 11)));
}

TEST(ShardingTest, PartsThatReadAsOneAreJoined) {
  const Mesh mesh = ParseMesh("a=2,b=2");
  const AxisList a = mesh.SubAxes(0);
  const AxisList b = mesh.SubAxes(1);
  EXPECT_EQ(Normalised({}, mesh), (DimSharding{{1, {}}}));
  EXPECT_EQ(Normalised({{1, {}}, {8, a}}, mesh), (DimSharding{{8, a}}));
  EXPECT_EQ(Normalised({{2, a}, {4, b}}, mesh), (DimSharding{{8, {0, 1}}}));
  EXPECT_EQ(Normalised({{4, a}, {3, {}}}, mesh), (DimSharding{{12, a}}));
  EXPECT_EQ(Normalised({{4, a}, {4, b}}, mesh), (DimSharding{{4, a}, {4, b}}));
}

// Shortening keeps what lies where; what lies alike has one short form.
TEST(ShardingTest, TheShortFormIsTheSameSplitAndUnique) {
  const Mesh mesh = Mesh::Create({{"a", 4}, {"b", 3}}, {}).value();
  std::map<std::vector<std::vector<int64_t>>, DimSharding> forms;
  int64_t alike = 0;
  RandomSharding random(1);
  for (int64_t i = 0; i < 3000; ++i) {
    std::vector<AxisId> axes = random.Shuffled(mesh);
    const std::vector<Part> parts =
        random.NextParts(mesh, random.Below(5), axes);
    const DimSharding dim = Normalised(parts, mesh);
    EXPECT_EQ(Normalised(dim, mesh), dim);
    const auto indices = AllIndices(dim, mesh);
    for (int64_t device = 0; device < mesh.device_count(); ++device) {
      ASSERT_EQ(indices[device], IndicesByHand(parts, mesh, device));
    }
    const auto [found, is_new] = forms.emplace(indices, dim);
    alike += is_new ? 0 : 1;
    ASSERT_EQ(found->second, dim);
  }
  EXPECT_GT(alike, 100);
}

TEST(ShardingTest, IndicesOfRandomShardingsAreThoseFoundByHand) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    RandomSharding random(seed);
    const Mesh mesh = random.NextMesh();
    for (const DimSharding& dim : random.Next(mesh).dims) {
      for (int64_t device = 0; device < mesh.device_count(); ++device) {
        std::vector<int64_t> indices = GlobalIndices(dim, mesh, device);
        ASSERT_EQ(std::ssize(indices), LocalSize(dim, mesh));
        std::erase(indices, -1);
        ASSERT_EQ(indices, IndicesByHand(dim, mesh, device));
      }
    }
  }
}

TEST(ProjectTest, AxesGoToTheFactorsTheySplit) {
  const Mesh mesh = ParseMesh("a=2,b=2");
  const Projection both = Project({{8, {0, 1}}}, {2, 4}, mesh);
  EXPECT_TRUE(both.complete);
  EXPECT_THAT(both.axes, ElementsAre(AxisList{0}, AxisList{1}));
  const Projection strided = Project({{3, {}}, {4, {0}}}, {3, 4}, mesh);
  EXPECT_TRUE(strided.complete);
  EXPECT_THAT(strided.axes, ElementsAre(AxisList{}, AxisList{0}));
  // Dimension 6 in halves does not split 3 x 2.
  const Projection straddles = Project({{6, {0}}}, {3, 2}, mesh);
  EXPECT_FALSE(straddles.complete);
  EXPECT_THAT(straddles.axes, ElementsAre(AxisList{}, AxisList{}));
  EXPECT_TRUE(Project({{5, {0}}}, {5}, mesh).complete);
  EXPECT_FALSE(Project({{5, {0}}}, {5, 1}, mesh).complete);
}

// Splits made of a split per factor come apart again into the same.
TEST(ProjectTest, WhatIsMadeOfFactorsIsFoundAgain) {
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    RandomSharding random(seed);
    const Mesh mesh = random.NextMesh();
    std::vector<AxisId> axes = random.Shuffled(mesh);
    const std::vector<Part> parts =
        random.NextParts(mesh, 1 + random.Below(4), axes);
    std::vector<int64_t> sizes;
    for (const Part& part : parts) sizes.push_back(part.size);
    const DimSharding dim = Normalised(parts, mesh);
    const Projection found = Project(dim, sizes, mesh);
    ASSERT_TRUE(found.complete) << seed;
    EXPECT_EQ(AsParts(sizes, found.axes), parts) << seed;
  }
}

// What is found is a split of its own, and no longer one would be right.
TEST(ProjectTest, ProjectsAsManyLeadingAxesAsFit) {
  int64_t partial = 0;
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    RandomSharding random(seed);
    const Mesh mesh = random.NextMesh();
    std::vector<AxisId> axes = random.Shuffled(mesh);
    const DimSharding dim =
        Normalised(random.NextParts(mesh, 1 + random.Below(3), axes), mesh);
    // Other factors of the same size.
    std::vector<int64_t> sizes;
    for (int64_t rest = GlobalSize(dim); rest > 1 || sizes.empty();) {
      int64_t size = 1 + random.Below(rest);
      while (rest % size != 0) size = 1 + random.Below(rest);
      sizes.push_back(size);
      rest /= size;
    }
    const Projection found = Project(dim, sizes, mesh);
    const DimSharding back = Normalised(AsParts(sizes, found.axes), mesh);
    // The same digits, minor axes left out.
    DimSharding kept = dim;
    size_t left = AxesOf(back).size();
    EXPECT_EQ(found.complete, left == AxesOf(dim).size()) << seed;
    for (Part& part : kept) {
      while (part.axes.size() > left) part.axes.pop_back();
      left -= part.axes.size();
    }
    ASSERT_EQ(AllIndices(back, mesh), AllIndices(Normalised(kept, mesh), mesh))
        << seed;
    partial += found.complete ? 0 : 1;
  }
  EXPECT_GT(partial, 100);
}

}  // namespace
}  // namespace meshwright
