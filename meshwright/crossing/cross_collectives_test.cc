// Collectives between processes do what they do within one.
#include "meshwright/crossing/cross_collectives.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "meshwright/crossing/cross_workers_for_test.h"
#include "meshwright/hlo/literal.h"
#include "meshwright/hlo/read_text.h"
#include "meshwright/hlo/verify.h"

namespace meshwright {
namespace {

// Small integers, others on every device, that every type holds exactly.
std::string DeviceValues(ElementType type, int64_t count, int64_t device) {
  std::string bytes;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t value = (device * 5 + i * 3 + i / 7) % 4;
    const auto number = static_cast<float>(value);
    uint32_t bits = 0;
    std::memcpy(&bits, &number, sizeof(bits));
    if (type == ElementType::kBF16) bits >>= 16;
    if (type == ElementType::kS32) bits = static_cast<uint32_t>(value);
    if (type == ElementType::kPred) bits = static_cast<uint32_t>(value % 2);
    bytes.append(reinterpret_cast<const char*>(&bits), HostBytes(type));
  }
  return bytes;
}

// All kinds of collectives along `D` of TYPE[8,8] among the groups GROUPS of
// SIZE devices; the permute goes PAIRS.
constexpr absl::string_view kAllKinds = R"(
HloModule all
first {
  a1 = TYPE[] parameter(0)
  b1 = TYPE[] parameter(1)
  ROOT c1 = TYPE[] FIRST(a1, b1)
}
second {
  a2 = TYPE[] parameter(0)
  b2 = TYPE[] parameter(1)
  ROOT c2 = TYPE[] SECOND(a2, b2)
}
ENTRY main {
  x = TYPE[8,8] parameter(0)
  id = u32[] replica-id()
  sum = TYPE[8,8] all-reduce(x), replica_groups=GROUPS, to_apply=first
  most = TYPE[8,8] all-reduce(x), replica_groups=GROUPS, to_apply=second
  scattered = TYPE[PART] reduce-scatter(x), replica_groups=GROUPS, dimensions={D}, to_apply=first
  gathered = TYPE[WHOLE] all-gather(x), replica_groups=GROUPS, dimensions={D}
  exchanged = TYPE[8,8] all-to-all(x), replica_groups=GROUPS, dimensions={D}
  moved = TYPE[8,8] collective-permute(x), source_target_pairs=PAIRS
  ROOT all = (TYPE[8,8], TYPE[8,8], TYPE[PART], TYPE[WHOLE], TYPE[8,8], TYPE[8,8], u32[]) tuple(sum, most, scattered, gathered, exchanged, moved, id)
})";

struct Placement {
  std::string name;
  std::vector<int> process_of;
  std::string groups;
  int size;
  std::string pairs;
};

struct Case {
  Placement placement;
  ElementType type;
  int64_t dimension;
};

std::string CaseName(const testing::TestParamInfo<Case>& info) {
  return absl::StrCat(info.param.placement.name, "_", Name(info.param.type),
                      "_", info.param.dimension);
}

class CrossCollectivesTest : public testing::TestWithParam<Case> {};

TEST_P(CrossCollectivesTest, EqualThoseOfOneProcess) {
  const auto& [placement, type, dimension] = GetParam();
  const auto sizes = [&, along = dimension](int64_t size) {
    return along == 0 ? absl::StrCat(size, ",8") : absl::StrCat("8,", size);
  };
  const bool pred = type == ElementType::kPred;
  const std::string text = absl::StrReplaceAll(
      kAllKinds, {{"TYPE", Name(type)},
                  {"FIRST", pred ? "or" : "add"},
                  {"SECOND", pred ? "and" : "maximum"},
                  {"GROUPS", placement.groups},
                  {"PAIRS", placement.pairs},
                  {"PART", sizes(8 / placement.size)},
                  {"WHOLE", sizes(8 * placement.size)},
                  {"{D}", absl::StrCat("{", dimension, "}")}});
  auto module = ReadModuleText(text);
  ASSERT_TRUE(module.ok()) << module.status();
  module->Finish();
  ASSERT_EQ(Verify(*module), absl::OkStatus());
  DeviceArrays inputs;
  for (size_t device = 0; device < placement.process_of.size(); ++device) {
    inputs.push_back({DeviceValues(type, 64, static_cast<int64_t>(device))});
  }
  const auto wanted = RunAlone(*module, inputs);
  ASSERT_TRUE(wanted.ok()) << wanted.status();
  const auto outputs = RunOnWorkers(*module, placement.process_of, inputs, 3);
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  for (size_t device = 0; device < inputs.size(); ++device) {
    ASSERT_EQ((*outputs)[device].size(), 7);
    for (size_t i = 0; i < 7; ++i) {
      EXPECT_EQ((*outputs)[device][i], (*wanted)[device][i])
          << "output " << i << " of device " << device;
    }
  }
}

std::vector<Case> Cases() {
  const std::string all = "{{0,1,2,3}}";
  const std::string ring = "{{0,1},{1,2},{2,3},{3,0}}";
  const std::vector<Placement> placements = {
      {"OneProcess", {0, 0, 0, 0}, all, 4, ring},
      {"TwoByTwo", {0, 0, 1, 1}, all, 4, ring},
      {"TwoByTwoPairs", {0, 0, 1, 1}, "{{0,2},{1,3}}", 2, "{{0,3},{2,1}}"},
      {"TwoByTwoMixed", {0, 0, 1, 1}, "{{0,2},{3,1}}", 2, "{{1,0},{2,3}}"},
      {"TwoByTwoLocal", {0, 0, 1, 1}, "{{1,0},{2,3}}", 2, "{{2,3}}"},
      {"TwoByTwoReversed", {0, 0, 1, 1}, "{{3,2,1,0}}", 4, "{{0,2}}"},
      {"FourByOne", {0, 1, 2, 3}, all, 4, ring},
      {"FourByOneReversed", {0, 1, 2, 3}, "{{2,0,3,1}}", 4, "{{3,0},{0,3}}"},
      {"OneAndThree", {0, 1, 1, 1}, all, 4, ring},
      {"ThreeAndOnePairs", {0, 0, 0, 1}, "{{0,1},{2,3}}", 2, "{{3,3},{2,0}}"},
      {"Interleaved", {0, 1, 0, 1}, all, 4, ring},
      {"InterleavedPairs", {1, 0, 0, 1}, "{{0,1},{2,3}}", 2, "{{0,1},{1,0}}"},
      {"TwoByFour",
       {0, 0, 0, 0, 1, 1, 1, 1},
       "{{0,1,2,3,4,5,6,7}}",
       8,
       "{{0,4},{4,0},{1,5},{5,1},{2,3}}"},
      {"TwoByFourStrided",
       {0, 0, 0, 0, 1, 1, 1, 1},
       "{{0,2,4,6},{1,3,5,7}}",
       4,
       "{{0,1},{1,2},{2,3},{3,4},{4,5},{5,6},{6,7}}"},
  };
  std::vector<Case> cases;
  for (const Placement& placement : placements) {
    for (const ElementType type : {ElementType::kF32, ElementType::kBF16,
                                   ElementType::kS32, ElementType::kPred}) {
      for (const int64_t dimension : {0, 1}) {
        cases.push_back({placement, type, dimension});
      }
    }
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Table, CrossCollectivesTest,
                         testing::ValuesIn(Cases()), CaseName);

}  // namespace
}  // namespace meshwright
