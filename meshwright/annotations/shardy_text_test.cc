#include "meshwright/annotations/shardy_text.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/mesh/sharding_text.h"

namespace meshwright {
namespace {

using testing::HasSubstr;

class ShardyTextTest : public testing::Test {
 protected:
  // The shardings of f32[8,16] arrays, "?" before those with free dimensions.
  std::string Parse(absl::string_view text, size_t count = 1) {
    const Shape shape = Shape::Array(ElementType::kF32, {8, 16});
    const std::vector<const Shape*> shapes(count, &shape);
    const auto shardings = ParseShardyShardings(text, meshes_, shapes);
    if (!shardings.ok()) return std::string(shardings.status().message());
    std::string result;
    for (const ShardySharding& sharding : *shardings) {
      result += ToString(sharding.sharding, sharding.mesh);
      for (size_t i = 0; i < sharding.free.size(); ++i) {
        if (sharding.free[i]) result += " free " + std::to_string(i);
      }
      result += ";";
    }
    return result;
  }

  const ShardyMeshes meshes_ =
      ParseShardyMeshes(
          "{mesh = #sdy.mesh<[\"data\"=4, \"model\"=2]>, "
          "\"other\" = #sdy.mesh<[\"a b\"=2, \"c\"=2], "
          "device_ids=[0, 2, 1, 3]>, "
          "maximal_mesh_1 = #sdy.mesh<[], device_ids=[1]>, "
          "empty_mesh = #sdy.mesh<[]>}")
          .value();
};

TEST_F(ShardyTextTest, ReadsMeshes) {
  EXPECT_EQ(meshes_.size(), 3u);
  EXPECT_EQ(meshes_.at("mesh"), Mesh::Parse("data=4,model=2").value());
  EXPECT_EQ(meshes_.at("other"),
            Mesh::Create({{"a_b", 2}, {"c", 2}}, {0, 2, 1, 3}).value());
  EXPECT_EQ(meshes_.at("empty_mesh").device_count(), 1);
  EXPECT_TRUE(ParseShardyMeshes("{}")->empty());
  EXPECT_THAT(std::string(ParseShardyMeshes("{mesh = }").status().message()),
              HasSubstr("xla.sdy.meshes of the module: expected '#sdy.mesh' "
                        "before '}'"));
}

TEST_F(ShardyTextTest, ReadsEveryForm) {
  EXPECT_EQ(Parse("#sdy.sharding<@mesh, [{\"data\"}, {}]>"), "[data, -];");
  EXPECT_EQ(Parse("#sdy.sharding<@mesh, [{}, {\"model\", \"data\"}]>"),
            "[-, (model,data)];");
  EXPECT_EQ(Parse("#sdy.sharding<@mesh, [{\"data\", ?}, {?}]>"),
            "[data, -] free 1;");
  EXPECT_EQ(Parse("#sdy.sharding<@mesh, [{\"data\":(2)2}p1, {?}p0]>"),
            "[data:(2)2, -] free 1;");
  EXPECT_EQ(Parse("#sdy.sharding<@mesh, [{}, {}], replicated={\"data\"}, "
                  "unreduced={\"model\"}>"),
            "[-, -] +{model};");
  EXPECT_EQ(Parse("#sdy.sharding<@other, [{\"a b\"}, {}]>"), "[a_b, -];");
  EXPECT_EQ(Parse("#sdy.sharding<@empty_mesh, [{}, {}]>"), "[-, -];");
  EXPECT_EQ(Parse("#sdy.sharding<mesh<[\"x\"=2]>, [{\"x\"}, {}]>"), "[x, -];");
  EXPECT_EQ(Parse("#sdy.sharding_per_value<[<@mesh, [{\"data\"}, {}]>, "
                  "<@mesh, [{?}, {?}]>]>",
                  2),
            "[data, -];[-, -] free 0 free 1;");
}

TEST_F(ShardyTextTest, MistakesAreNamed) {
  EXPECT_THAT(Parse("#sdy.sharding<@mash, [{}, {}]>"),
              HasSubstr("sharding #sdy.sharding<@mash, [{}, {}]>: the module "
                        "has no mesh @mash"));
  EXPECT_THAT(Parse("#sdy.sharding<@mesh, [{}]>"),
              HasSubstr("is not for the 2 dimensions"));
  EXPECT_THAT(Parse("#sdy.sharding<@mesh, [{}, {}, {}]>"),
              HasSubstr("is not for the 2 dimensions"));
  EXPECT_THAT(Parse("#sdy.sharding<@mesh, [{\"x\"}, {}]>"),
              HasSubstr("no mesh axis 'x'; the mesh is data=4,model=2"));
  EXPECT_THAT(Parse("#sdy.sharding<@mesh, [{\"data\"}, {\"data\"}]>"),
              HasSubstr("used twice"));
  EXPECT_THAT(Parse("#sdy.sharding<@mesh, [{\"data\", \"data\"}, {}]>"),
              HasSubstr("twice"));
  EXPECT_THAT(Parse("#sdy.sharding<@mesh, [{}, {}]>", 2),
              HasSubstr("expected ','"));
  EXPECT_THAT(Parse("{replicated}"), HasSubstr("expected '#sdy.sharding'"));
}

}  // namespace
}  // namespace meshwright
