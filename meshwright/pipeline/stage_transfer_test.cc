#include "meshwright/pipeline/stage_transfer.h"

#include <map>
#include <string>
#include <tuple>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/mesh/sharding_text.h"

namespace meshwright {
namespace {

using ::testing::ElementsAre;

SendList ListOf(const char* from, const char* source, const char* to,
                const char* target, const std::vector<int64_t>& dimensions) {
  const Mesh a = Mesh::Parse(source).value();
  const Mesh b = Mesh::Parse(target).value();
  return MakeSendList(ParseSharding(from, dimensions, a).value(), a,
                      ParseSharding(to, dimensions, b).value(), b);
}

// "0@2 -> 1@0 x2" for tiles of one dimension.
std::vector<std::string> Lines(const std::vector<Tile>& tiles) {
  std::vector<std::string> lines;
  for (const Tile& tile : tiles) {
    lines.push_back(std::to_string(tile.from) + "@" +
                    std::to_string(tile.from_start[0]) + " -> " +
                    std::to_string(tile.to) + "@" +
                    std::to_string(tile.to_start[0]) + " x" +
                    std::to_string(tile.sizes[0]));
  }
  return lines;
}

TEST(MakeSendListTest, EqualLayoutsAreCopied) {
  const SendList list = ListOf("[data]", "data=2", "[data]", "data=2", {8});
  EXPECT_TRUE(list.is_plain);
  EXPECT_THAT(Lines(list.sent), ElementsAre("0@0 -> 0@0 x4", "1@0 -> 1@0 x4"));
}

TEST(MakeSendListTest, FewerDevicesTakeSeveralTiles) {
  const SendList list = ListOf("[data]", "data=4", "[data]", "data=2", {8});
  EXPECT_FALSE(list.is_plain);
  EXPECT_THAT(Lines(list.sent), ElementsAre("0@0 -> 0@0 x2", "1@0 -> 0@2 x2",
                                            "2@0 -> 1@0 x2", "3@0 -> 1@2 x2"));
}

TEST(MakeSendListTest, MoreDevicesTakeParts) {
  const SendList list = ListOf("[data]", "data=2", "[data]", "data=4", {8});
  EXPECT_THAT(Lines(list.sent), ElementsAre("0@0 -> 0@0 x2", "0@2 -> 1@0 x2",
                                            "1@0 -> 2@0 x2", "1@2 -> 3@0 x2"));
}

TEST(MakeSendListTest, LargeCopiesAreSentOnceAndShared) {
  const SendList list =
      ListOf("[-]", "data=2", "[-]", "data=2", {int64_t{1} << 20});
  EXPECT_THAT(Lines(list.sent), ElementsAre("0@0 -> 0@0 x524288",
                                            "1@524288 -> 1@524288 x524288"));
  EXPECT_THAT(Lines(list.shared), ElementsAre("1@524288 -> 0@524288 x524288",
                                              "0@0 -> 1@0 x524288"));
}

// Element by element: each device of the target has what it should, from a
// device that had it.
void CheckList(const Sharding& from, const Mesh& source, const Sharding& to,
               const Mesh& target) {
  const SendList list = MakeSendList(from, source, to, target);
  const auto element = [](const Sharding& sharding, const Mesh& mesh,
                          int64_t device, const std::vector<int64_t>& at) {
    std::vector<int64_t> index;
    for (size_t dim = 0; dim < at.size(); ++dim) {
      index.push_back(GlobalIndices(sharding.dims[dim], mesh, device)[at[dim]]);
    }
    return index;
  };
  std::map<std::pair<int64_t, std::vector<int64_t>>, std::vector<int64_t>> got;
  const auto place = [&](const Tile& tile, const Sharding& at_source,
                         const Mesh& mesh) {
    int64_t count = 1;
    for (const int64_t size : tile.sizes) count *= size;
    for (int64_t i = 0; i < count; ++i) {
      std::vector<int64_t> a = tile.from_start;
      std::vector<int64_t> b = tile.to_start;
      int64_t rest = i;
      for (size_t dim = 0; dim < tile.sizes.size(); ++dim) {
        a[dim] += rest % tile.sizes[dim];
        b[dim] += rest % tile.sizes[dim];
        rest /= tile.sizes[dim];
      }
      const bool is_new = got.emplace(std::pair(tile.to, b),
                                      element(at_source, mesh, tile.from, a))
                              .second;
      EXPECT_TRUE(is_new) << "sent twice";
    }
  };
  for (const Tile& tile : list.sent) place(tile, from, source);
  for (const Tile& tile : list.shared) {
    place(tile, to, target);
  }
  int64_t wanted = 0;
  for (int64_t device = 0; device < target.device_count(); ++device) {
    int64_t count = 1;
    for (const DimSharding& dim : to.dims) {
      int64_t real = 0;
      for (const int64_t index : GlobalIndices(dim, target, device)) {
        real += index >= 0 ? 1 : 0;
      }
      count *= real;
    }
    wanted += count;
  }
  EXPECT_EQ(std::ssize(got), wanted);
  for (const auto& [where, what] : got) {
    EXPECT_EQ(element(to, target, where.first, where.second), what);
  }
}

TEST(MakeSendListTest, EveryElementArrivesOnce) {
  const std::vector<int64_t> dimensions = {12, 6};
  const Mesh a = Mesh::Parse("x=2,y=3").value();
  const Mesh b = Mesh::Parse("z=4").value();
  const std::vector<std::string> on_a = {"[x, y]", "[y, x]", "[(x,y), -]",
                                         "[-, -]", "[-, y]", "[(y,x), -]"};
  const std::vector<std::string> on_b = {"[z, -]", "[-, z]", "[-, -]"};
  for (const std::string& from : on_a) {
    for (const std::string& to : on_b) {
      SCOPED_TRACE(from + " " + to);
      const Sharding left = ParseSharding(from, dimensions, a).value();
      const Sharding right = ParseSharding(to, dimensions, b).value();
      CheckList(left, a, right, b);
      CheckList(right, b, left, a);
    }
  }
  const std::vector<int64_t> large = {96, 384};
  CheckList(ParseSharding("[x, -]", large, a).value(), a,
            ParseSharding("[-, -]", large, b).value(), b);
}

}  // namespace
}  // namespace meshwright
