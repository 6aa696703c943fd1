#include "meshwright/mesh/mesh.h"

#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/mesh/random_sharding_for_test.h"

namespace meshwright {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string Error(const absl::StatusOr<Mesh>& mesh) {
  return mesh.ok() ? "" : std::string(mesh.status().message());
}

TEST(MeshTest, ParsesAndPrints) {
  for (const char* text : {"data=4,model=2", "d=8", "a=1", "x.1=3,_y=5,z=1"}) {
    EXPECT_EQ(ParseMesh(text).ToString(), text);
  }
  EXPECT_EQ(ParseMesh("8"), ParseMesh("d=8"));
  EXPECT_EQ(ParseMesh("data=4,model=2").device_count(), 8);
}

TEST(MeshTest, MistakesAreNamed) {
  EXPECT_THAT(Error(Mesh::Parse("data")), HasSubstr("'data' is no mesh"));
  EXPECT_THAT(Error(Mesh::Parse("")), HasSubstr("no mesh"));
  EXPECT_THAT(Error(Mesh::Parse("data=x")), HasSubstr("no mesh"));
  EXPECT_THAT(Error(Mesh::Parse("a=2,a=2")), HasSubstr("'a' is given twice"));
  EXPECT_THAT(Error(Mesh::Parse("a b=2")), HasSubstr("'a b'"));
  EXPECT_THAT(Error(Mesh::Parse("2a=2")), HasSubstr("'2a'"));
  EXPECT_THAT(Error(Mesh::Parse("a=0")), HasSubstr("size 0"));
  EXPECT_THAT(Error(Mesh::Parse("a=1024,b=2048")), HasSubstr("'b'"));
  EXPECT_THAT(Error(Mesh::Create({{"a", 2}}, {0, 2})), HasSubstr("0 to 1"));
  EXPECT_THAT(Error(Mesh::Create({{"a", 2}}, {0, 0})), HasSubstr("0 to 1"));
  EXPECT_THAT(Error(Mesh::Create({{"a", 2}}, {0})), HasSubstr("0 to 1"));
}

TEST(MeshTest, AnAxisIsItsPrimeSubAxesMajorFirst) {
  const Mesh mesh = ParseMesh("a=12,b=1,c=2");
  ASSERT_EQ(mesh.sub_axes().size(), 4u);
  EXPECT_THAT(mesh.SubAxes(0), ElementsAre(0, 1, 2));
  EXPECT_THAT(mesh.SubAxes(1), IsEmpty());
  EXPECT_THAT(mesh.SubAxes(2), ElementsAre(3));
  EXPECT_EQ(mesh.sub_axes()[2].size, 3);
  EXPECT_EQ(mesh.sub_axes()[2].before, 4);
}

TEST(MeshTest, GroupsDifferAlongTheirAxesOnly) {
  const Mesh mesh = ParseMesh("data=4,model=2");
  EXPECT_THAT(mesh.Groups(mesh.SubAxes(0)),
              ElementsAre(ElementsAre(0, 2, 4, 6), ElementsAre(1, 3, 5, 7)));
  EXPECT_THAT(mesh.Groups({}).size(), 8);
  // The other way round: model major, then the minor half of data.
  EXPECT_THAT(mesh.Groups({2, 1}),
              ElementsAre(ElementsAre(0, 2, 1, 3), ElementsAre(4, 6, 5, 7)));
}

TEST(MeshTest, DeviceIdsStandAtTheirPositions) {
  const Mesh mesh = Mesh::Create({{"a", 2}, {"b", 2}}, {3, 1, 2, 0}).value();
  EXPECT_THAT(mesh.Groups({0}),
              ElementsAre(ElementsAre(3, 2), ElementsAre(1, 0)));
  EXPECT_EQ(mesh.Coordinate(0, mesh.AllSubAxes()), 3);
  // In order is as if not given.
  EXPECT_EQ(Mesh::Create({{"a", 2}}, {0, 1}).value(), ParseMesh("a=2"));
}

TEST(MeshTest, CoordinatesOfRandomMeshesAgreeWithTheGroups) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    RandomSharding random(seed);
    const Mesh mesh = random.NextMesh();
    const std::vector<AxisId> shuffled = random.Shuffled(mesh);
    const AxisList axes(
        shuffled.begin(),
        shuffled.begin() + random.Below(std::ssize(shuffled) + 1));
    std::set<int64_t> seen;
    for (const std::vector<int64_t>& group : mesh.Groups(axes)) {
      ASSERT_EQ(std::ssize(group), mesh.Size(axes));
      for (int64_t i = 0; i < std::ssize(group); ++i) {
        EXPECT_EQ(mesh.Coordinate(group[i], axes), i);
        EXPECT_TRUE(seen.insert(group[i]).second);
      }
    }
    EXPECT_EQ(std::ssize(seen), mesh.device_count());
  }
}

TEST(MeshTest, AxesPrintByNameOrPiece) {
  const Mesh mesh = ParseMesh("data=8,model=2");
  EXPECT_EQ(AxesToString({}, mesh), "-");
  EXPECT_EQ(AxesToString({0, 1, 2}, mesh), "data");
  EXPECT_EQ(AxesToString({0, 1, 2, 3}, mesh), "(data,model)");
  EXPECT_EQ(AxesToString({1, 2}, mesh), "data:(2)4");
  EXPECT_EQ(AxesToString({2, 1, 3}, mesh), "(data:(4)2,data:(2)2,model)");
}

}  // namespace
}  // namespace meshwright
