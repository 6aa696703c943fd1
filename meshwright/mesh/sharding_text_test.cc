#include "meshwright/mesh/sharding_text.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/mesh/random_sharding_for_test.h"

namespace meshwright {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class ShardingTextTest : public testing::Test {
 protected:
  Sharding Parse(absl::string_view text, std::vector<int64_t> dimensions) {
    const auto sharding = ParseSharding(text, dimensions, mesh_);
    EXPECT_TRUE(sharding.ok()) << sharding.status();
    return sharding.value_or(Sharding());
  }

  std::string Error(absl::string_view text, std::vector<int64_t> dimensions) {
    const auto sharding = ParseSharding(text, dimensions, mesh_);
    EXPECT_EQ(sharding.status().code(), absl::StatusCode::kInvalidArgument)
        << text;
    return std::string(sharding.status().message());
  }

  const Mesh mesh_ = Mesh::Parse("data=8,model=2,expert=3,one=1").value();
};

TEST_F(ShardingTextTest, EveryFormReadsAndPrints) {
  const std::vector<std::pair<std::string, std::vector<int64_t>>> cases = {
      {"[]", {}},
      {"[] +{data,model}", {}},
      {"[data, -, model] +{expert}", {8, 5, 4}},
      {"[-, -] max{model}", {2, 2}},
      {"[-] min{data:(2)2,expert}", {2}},
      {"[-] *{model}", {2}},
      {"[-] and{model}", {2}},
      {"[-] or{model}", {2}},
      {"[(data,model), -]", {32, 1}},
      {"[data:(2)4, data:(1)2]", {8, 8}},
      {"[(data:(4)2,data:(1)4)]", {8}},
      {"[3:- 256:model]", {768}},
      {"[data, 6:expert 8:model]", {8, 48}},
      {"[data]", {13}},
  };
  for (const auto& [text, dimensions] : cases) {
    EXPECT_EQ(ToString(Parse(text, dimensions), mesh_), text);
  }
}

TEST_F(ShardingTextTest, ReadsTheSameWithoutOrWithBlanks) {
  EXPECT_EQ(Parse(" [ ( model ,data ) ,3:-6:expert ] ", {16, 18}),
            Parse("[(model,data),3:- 6:expert]", {16, 18}));
  EXPECT_EQ(Parse("[data,-]+{model,expert}", {8, 1}),
            Parse("[data, -] + {expert, model}", {8, 1}));
}

TEST_F(ShardingTextTest, ReadsWhatItMeans) {
  const Sharding sharding =
      Parse("[(model,data:(2)4), 3:- 4:data:(1)2] max{expert}", {16, 12});
  EXPECT_THAT(sharding.dims,
              ElementsAre(ElementsAre(Part{16, {3, 1, 2}}),
                          ElementsAre(Part{3, {}}, Part{4, {0}})));
  EXPECT_EQ(sharding.pending, AxisList{4});
  EXPECT_EQ(sharding.reduction, Reduction::kMax);
  // Parts that read as one, and axes of size 1, are not kept.
  EXPECT_EQ(Parse("[2:model 4:one]", {8}), Parse("[model]", {8}));
}

TEST_F(ShardingTextTest, MistakesAreNamed) {
  EXPECT_THAT(Error("[dta, -]", {8, 8}),
              HasSubstr("'[dta, -]': no mesh axis 'dta'; the mesh is "
                        "data=8,model=2,expert=3,one=1"));
  EXPECT_THAT(Error("[dta:(1)2]", {8}), HasSubstr("no mesh axis 'dta'"));
  EXPECT_THAT(Error("[data, data]", {8, 8}), HasSubstr("is used twice"));
  EXPECT_THAT(Error("[(model,model)]", {8}),
              HasSubstr("mesh axis model is used twice"));
  EXPECT_THAT(Error("[2:model 2:model]", {4}), HasSubstr("used twice"));
  EXPECT_THAT(Error("[data] +{data:(2)2}", {8}),
              HasSubstr("mesh axis data:(2)2 is used twice"));
  EXPECT_THAT(Error("[data]", {8, 8}),
              HasSubstr("the sharding has 1 dimensions, the tensor has 2"));
  EXPECT_THAT(Error("[data:(3)2]", {8}),
              HasSubstr("mesh axis data=8 has no part data:(3)2; it divides "
                        "into 2 x 2 x 2"));
  EXPECT_THAT(Error("[data:(2)8]", {8}), HasSubstr("no part data:(2)8"));
  EXPECT_THAT(Error("[data:(1)3]", {8}), HasSubstr("no part data:(1)3"));
  EXPECT_THAT(Error("[data:(1)0]", {8}), HasSubstr("no part data:(1)0"));
  EXPECT_THAT(Error("[3:- 256:model]", {769}),
              HasSubstr("the parts of dimension 0 are 3 x 256; its size is "
                        "769"));
  EXPECT_THAT(Error("[3:- 3:model]", {9}),
              HasSubstr("the part of size 3 of dimension 0 does not divide "
                        "over model=2"));
  // Not an uneven split in halves, though it could be read so.
  EXPECT_THAT(Error("[3:model 3:-]", {9}), HasSubstr("does not divide"));
}

TEST_F(ShardingTextTest, TextThatIsNoShardingSaysWhere) {
  EXPECT_THAT(Error("data", {8}), HasSubstr("expected '[' before 'data'"));
  EXPECT_THAT(Error("", {}), HasSubstr("expected '[' at the end"));
  EXPECT_THAT(Error("[data", {8}), HasSubstr("expected ',' at the end"));
  EXPECT_THAT(Error("[data,]", {8}), HasSubstr("a mesh axis before ']'"));
  EXPECT_THAT(Error("[data model]", {8}), HasSubstr("',' before 'model]'"));
  EXPECT_THAT(Error("[(data]", {8}), HasSubstr("expected ')'"));
  EXPECT_THAT(Error("[3-]", {3}), HasSubstr("expected ':'"));
  EXPECT_THAT(Error("[data:(x)2]", {8}), HasSubstr("expected a number"));
  EXPECT_THAT(Error("[99999999999999999999:-]", {8}), HasSubstr("a number"));
  EXPECT_THAT(Error("[9223372036854775807:- 3:-]", {8}), HasSubstr("parts"));
  EXPECT_THAT(Error("[-] avg{model}", {8}), HasSubstr("before 'avg{model}'"));
  EXPECT_THAT(Error("[-] +{model} x", {8}), HasSubstr("before 'x'"));
  EXPECT_THAT(Error("[-] +{}", {8}), HasSubstr("a mesh axis before '}'"));
}

TEST_F(ShardingTextTest, ChecksThatAShardingFits) {
  const auto error = [&](const Sharding& sharding, std::vector<int64_t> dims,
                         bool allow_uneven = false) {
    return std::string(
        CheckSharding(sharding, dims, mesh_, allow_uneven).message());
  };
  const Sharding uneven = Parse("[-, data]", {4, 50257});
  EXPECT_EQ(error(uneven, {4, 50257}),
            "dimension 1 of size 50257 does not divide over data=8");
  EXPECT_EQ(error(uneven, {4, 50257}, true), "");
  EXPECT_EQ(error(uneven, {4, 50258}, true),
            "dimension 1 has size 50258; the sharding is for 50257");
  EXPECT_EQ(error(uneven, {4}),
            "the sharding has 2 dimensions, the tensor has 1");
  Sharding other = Sharding::Replicated({8});
  other.dims[0][0].axes = {5};
  EXPECT_THAT(error(other, {8}), HasSubstr("sub-axis 5 is not of the mesh"));
  other.dims[0][0].axes = {0};
  other.pending = {0};
  EXPECT_THAT(error(other, {8}), HasSubstr("data:(1)2 is used twice"));
  other.dims[0] = {{2, {}}, {4, {}}};
  EXPECT_THAT(error(other, {8}), HasSubstr("more parts than it needs"));
}

TEST(ShardingTextCapacityTest, LongListsOfRepeatedAxesAreRefused) {
  const Mesh mesh = Mesh::Parse("a=4096").value();
  for (const char* text : {"[4096:a 4096:a]", "[(a,a,a,a)]"}) {
    const auto sharding = ParseSharding(text, {4096 * 4096}, mesh);
    EXPECT_THAT(std::string(sharding.status().message()),
                HasSubstr("is used twice"));
  }
}

TEST(ShardingTextRoundTripTest, RandomShardingsComeBack) {
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    RandomSharding random(seed);
    const Mesh mesh = random.NextMesh();
    const Sharding sharding = random.Next(mesh);
    const std::string text = ToString(sharding, mesh);
    const std::vector<int64_t> dimensions = GlobalDimensions(sharding);
    const auto back = ParseSharding(text, dimensions, mesh);
    ASSERT_TRUE(back.ok()) << back.status() << " " << mesh.ToString();
    ASSERT_EQ(*back, sharding) << text << " " << mesh.ToString();
    EXPECT_TRUE(CheckSharding(sharding, dimensions, mesh, true).ok());
    bool even = true;
    for (const DimSharding& dim : sharding.dims) even &= IsEven(dim, mesh);
    EXPECT_EQ(CheckSharding(sharding, dimensions, mesh, false).ok(), even);
  }
}

}  // namespace
}  // namespace meshwright
