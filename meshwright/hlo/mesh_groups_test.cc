#include "meshwright/hlo/mesh_groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace meshwright {
namespace {

using Groups = std::vector<std::vector<int64_t>>;

struct MeshCase {
  std::string name;
  std::vector<int64_t> sizes;
  std::vector<int64_t> devices;
  std::vector<MeshAxisPart> parts;
  Groups want;  // Empty: an error.
};

class ExpandMeshGroupsTest : public testing::TestWithParam<MeshCase> {};

TEST_P(ExpandMeshGroupsTest, GroupsDifferAlongTheirAxes) {
  const auto& [name, sizes, devices, parts, want] = GetParam();
  const auto groups = ExpandMeshGroups(sizes, devices, parts);
  EXPECT_EQ(groups.ok(), !want.empty()) << groups.status();
  if (groups.ok()) {
    EXPECT_EQ(*groups, want);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Table, ExpandMeshGroupsTest,
    testing::ValuesIn<MeshCase>({
        {"TheMinorAxis", {2, 3}, {}, {{1}}, {{0, 1, 2}, {3, 4, 5}}},
        {"TheMajorAxis", {2, 3}, {}, {{0}}, {{0, 3}, {1, 4}, {2, 5}}},
        {"TwoOfThree", {2, 2, 2}, {}, {{0}, {2}}, {{0, 1, 4, 5}, {2, 3, 6, 7}}},
        {"InTheOrderGiven", {2, 2}, {}, {{1}, {0}}, {{0, 2, 1, 3}}},
        {"NoAxis", {2}, {}, {}, {{0}, {1}}},
        {"TheMinorPart", {4}, {}, {{0, 2, 2}}, {{0, 1}, {2, 3}}},
        {"TheMajorPart", {4}, {}, {{0, 1, 2}}, {{0, 2}, {1, 3}}},
        {"BothParts", {4}, {}, {{0, 2, 2}, {0, 1, 2}}, {{0, 2, 1, 3}}},
        {"ListedDevices", {2, 2}, {3, 1, 2, 0}, {{1}}, {{3, 1}, {2, 0}}},
        {"TheSameAxisTwice", {2, 2}, {}, {{1}, {1}}, {}},
        {"PartsThatOverlap", {8}, {}, {{0, 1, 4}, {0, 2, 2}}, {}},
        {"APartThatDoesNotDivide", {6}, {}, {{0, 4, 2}}, {}},
        {"NoPreSize", {4}, {}, {{0, 0, 2}}, {}},
        {"NoSuchAxis", {4}, {}, {{1}}, {}},
        {"AnEmptyAxis", {4, 0}, {}, {{0}}, {}},
        {"TooFewDevices", {2, 2}, {0, 1}, {{0}}, {}},
        {"TooManyDevices", {int64_t{1} << 40, int64_t{1} << 40}, {}, {{0}}, {}},
    }),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace meshwright
