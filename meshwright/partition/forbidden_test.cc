#include "meshwright/partition/forbidden.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/mesh/sharding_text.h"
#include "meshwright/reshard/reshard.h"

namespace meshwright {
namespace {

using testing::HasSubstr;

TEST(Forbidden, ReadsAndWritesLists) {
  const auto list = ParseForbidden("all-to-all,all-gather@data");
  ASSERT_TRUE(list.ok()) << list.status();
  EXPECT_EQ(ToString(*list), "all-to-all, all-gather@data");
  EXPECT_THAT(ParseForbidden("all-to-all,gossip").status().message(),
              HasSubstr("'gossip'"));
  EXPECT_THAT(ParseForbidden("all-gather@").status().message(),
              HasSubstr("names no axis"));
  EXPECT_THAT(CheckAxes(*list, *Mesh::Parse("model=2")).message(),
              HasSubstr("no axis data"));
}

class ForbiddenPaths : public testing::Test {
 protected:
  std::string Path(const char* forbidden, const char* from, const char* to) {
    const Mesh mesh = *Mesh::Parse("data=4,model=2");
    Resharder resharder(&mesh, Without({}, *ParseForbidden(forbidden), mesh));
    const std::vector<int64_t> dims = {1 << 12, 1 << 12};
    const Sharding a = *ParseSharding(from, dims, mesh);
    const Sharding b = *ParseSharding(to, dims, mesh);
    is_possible_ = resharder.Price(ElementType::kF32, a, b) < kForbiddenSeconds;
    return ToString(resharder.Path(ElementType::kF32, a, b), mesh);
  }
  bool is_possible_ = false;
};

TEST_F(ForbiddenPaths, TakeAnotherWay) {
  EXPECT_EQ(Path("all-gather", "[data, -]", "[-, data]"),
            "all-to-all data from 0 to 1");
  EXPECT_THAT(Path("all-to-all", "[data, -]", "[-, data]"),
              testing::Not(HasSubstr("all-to-all")));
  EXPECT_TRUE(is_possible_);
  EXPECT_THAT(Path("all-reduce", "[-, -] +{data}", "[-, -]"),
              HasSubstr("reduce-scatter"));
  EXPECT_TRUE(is_possible_);
}

TEST_F(ForbiddenPaths, OnlyAlongTheAxis) {
  EXPECT_THAT(Path("all-reduce@model", "[-, -] +{data}", "[-, -]"),
              HasSubstr("all-reduce data"));
  EXPECT_THAT(Path("all-reduce@model", "[-, -] +{model}", "[-, -]"),
              testing::Not(HasSubstr("all-reduce")));
}

TEST_F(ForbiddenPaths, MayNotBe) {
  Path("all-reduce,all-gather,reduce-scatter,all-to-all,collective-permute",
       "[data, -]", "[-, -]");
  EXPECT_FALSE(is_possible_);
  // Slicing needs none.
  Path("all-reduce,all-gather,reduce-scatter,all-to-all,collective-permute",
       "[-, -]", "[data, -]");
  EXPECT_TRUE(is_possible_);
}

}  // namespace
}  // namespace meshwright
