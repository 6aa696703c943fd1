#include "meshwright/annotations/op_sharding_conversion.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/annotations/listed_for_test.h"
#include "meshwright/mesh/random_sharding_for_test.h"
#include "meshwright/mesh/sharding_text.h"

namespace meshwright {
namespace {

using testing::HasSubstr;

using Kind = OpSharding::Kind;

OpSharding Iota(std::vector<int64_t> tiles, std::vector<int64_t> reshape,
                std::vector<int32_t> perm, bool replicate = false) {
  return {.kind = Kind::kTiled,
          .tile_dimensions = std::move(tiles),
          .iota_reshape_dims = std::move(reshape),
          .iota_transpose_perm = std::move(perm),
          .replicate_on_last_tile_dim = replicate};
}

class OpShardingConversionTest : public testing::Test {
 protected:
  std::string From(const OpSharding& annotation,
                   std::vector<int64_t> dimensions) {
    const auto sharding = FromOpSharding(annotation, dimensions, mesh_);
    return sharding.ok() ? ToString(*sharding, mesh_)
                         : std::string(sharding.status().message());
  }

  std::string To(absl::string_view text, std::vector<int64_t> dimensions) {
    const auto annotation =
        ToOpSharding(ParseSharding(text, dimensions, mesh_).value(), mesh_);
    return annotation.ok() ? annotation->ToString()
                           : std::string(annotation.status().message());
  }

  const Mesh mesh_ = Mesh::Parse("data=4,model=2").value();
};

TEST_F(OpShardingConversionTest, ReadsBothForms) {
  EXPECT_EQ(From(Iota({4, 1, 2}, {8}, {0}, true), {8, 3}), "[data, -]");
  EXPECT_EQ(From(Iota({2, 1, 4}, {4, 2}, {1, 0}, true), {8, 3}), "[model, -]");
  EXPECT_EQ(From(Iota({1, 8}, {4, 2}, {1, 0}), {8, 8}), "[-, (model,data)]");
  EXPECT_EQ(From(Iota({2, 4}, {8}, {0}), {8, 8}),
            "[data:(1)2, (data:(2)2,model)]");
  EXPECT_EQ(From(Listed({2, 4}, {0, 2, 4, 6, 1, 3, 5, 7}), {8, 8}),
            "[model, data]");
  EXPECT_EQ(From({.kind = Kind::kReplicated}, {8, 8}), "[-, -]");
  // A size that the tiles do not divide.
  EXPECT_EQ(From(Iota({8}, {8}, {0}), {13}), "[(data,model)]");
}

TEST_F(OpShardingConversionTest, ReadsTrailingTileDimensions) {
  OpSharding annotation = Iota({2, 2, 2}, {8}, {0});
  annotation.last_tile_dims = {Kind::kReplicated, Kind::kUnreduced};
  EXPECT_EQ(From(annotation, {4}), "[data:(1)2] +{model}");
  // The order of copies does not matter.
  OpSharding copies = Listed({2, 4}, {0, 1, 3, 2, 7, 6, 5, 4});
  copies.replicate_on_last_tile_dim = true;
  EXPECT_EQ(From(copies, {4}), "[data:(1)2]");
  annotation.last_tile_dims[1] = Kind::kManual;
  EXPECT_THAT(From(annotation, {4}), HasSubstr("partly manual"));
  OpSharding manual_of_one = Iota({8, 1}, {8}, {0});
  manual_of_one.last_tile_dims = {Kind::kManual};
  EXPECT_EQ(From(manual_of_one, {8}), "[(data,model)]");
}

TEST_F(OpShardingConversionTest, MistakesAreNamed) {
  EXPECT_THAT(From({.kind = Kind::kMaximal, .devices = {0}}, {8}),
              HasSubstr("{maximal device=0} is not supported"));
  EXPECT_THAT(From({.kind = Kind::kManual}, {8}),
              HasSubstr("{manual} is not supported"));
  EXPECT_THAT(From({.kind = Kind::kTuple}, {8}), HasSubstr("is for a tuple"));
  EXPECT_THAT(From(Iota({8}, {8}, {0}), {8, 8}),
              HasSubstr("is for 1 dimensions, the tensor has 2"));
  EXPECT_THAT(From(Iota({4}, {4}, {0}), {8}),
              HasSubstr("is for 4 devices, the mesh data=4,model=2 has 8"));
  EXPECT_THAT(From(Listed({8}, {0, 1, 2, 4, 3, 5, 6, 7}), {8}),
              HasSubstr("does not follow the axes of the mesh data=4,model=2: "
                        "no part of them makes the 8 tiles of dimension 0"));
  EXPECT_THAT(From(Listed({8}, {0, 1, 2, 3, 4, 5, 6, 6}), {8}),
              HasSubstr("does not name each of the devices 0 to 7 once"));
  EXPECT_THAT(From(Listed({8}, {0, 1}), {8}), HasSubstr("names 2 devices"));
  EXPECT_THAT(From({.kind = Kind::kTiled}, {8}), HasSubstr("has no tiles"));
  EXPECT_THAT(From(Listed({0, 8}, {}), {8, 8}), HasSubstr("of no tiles"));
}

TEST_F(OpShardingConversionTest, WritesWhatXlaWrites) {
  EXPECT_EQ(To("[-, -]", {8, 8}), "{replicated}");
  EXPECT_EQ(To("[data, -]", {8, 8}),
            "{devices=[4,1,2]<=[8] last_tile_dim_replicate}");
  EXPECT_EQ(To("[model, -]", {8, 8}),
            "{devices=[2,1,4]<=[4,2]T(1,0) last_tile_dim_replicate}");
  EXPECT_EQ(To("[-, (model,data)]", {8, 8}), "{devices=[1,8]<=[4,2]T(1,0)}");
  EXPECT_EQ(To("[data, model]", {8, 8}), "{devices=[4,2]<=[8]}");
  EXPECT_THAT(To("[data] +{model}", {8}), HasSubstr("pending"));
  EXPECT_THAT(To("[3:- 2:model]", {6}), HasSubstr("strided"));
}

TEST(OpShardingRoundTripTest, RandomShardingsComeBack) {
  int64_t written = 0;
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    RandomSharding random(seed);
    const Mesh mesh = random.NextMesh();
    const Sharding sharding = random.Next(mesh);
    const auto annotation = ToOpSharding(sharding, mesh);
    if (!annotation.ok()) continue;
    ++written;
    const auto back =
        FromOpSharding(*annotation, GlobalDimensions(sharding), mesh);
    ASSERT_TRUE(back.ok()) << back.status();
    ASSERT_EQ(*back, sharding) << annotation->ToString();
    if (annotation->kind != Kind::kTiled) continue;
    // The explicit form is the same.
    OpSharding listed = *annotation;
    listed.devices = TileDevices(*annotation).value();
    listed.iota_reshape_dims.clear();
    listed.iota_transpose_perm.clear();
    EXPECT_EQ(*FromOpSharding(listed, GlobalDimensions(sharding), mesh),
              sharding);
  }
  EXPECT_GT(written, 300);
}

}  // namespace
}  // namespace meshwright
