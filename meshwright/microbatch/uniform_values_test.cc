#include "meshwright/microbatch/uniform_values.h"

#include <string>

#include "gtest/gtest.h"
#include "meshwright/hlo/read_text.h"

namespace meshwright {
namespace {

constexpr char kValues[] = R"(
HloModule values

ENTRY main {
  x = f32[4,8]{1,0} parameter(0)
  v = f32[8]{0} parameter(1)
  one = f32[] constant(1)
  rows = f32[4,8]{1,0} iota(), iota_dimension=0
  columns = f32[4,8]{1,0} broadcast(v), dimensions={1}
  splat = f32[4,8]{1,0} broadcast(one), dimensions={}
  both = f32[4,8]{1,0} add(rows, columns)
  scaled = f32[4,8]{1,0} multiply(columns, splat)
  apart = f32[4,8]{1,0} add(scaled, x)
  ROOT all = (f32[4,8]{1,0}, f32[4,8]{1,0}, f32[4,8]{1,0}, f32[4,8]{1,0}, f32[4,8]{1,0}, f32[4,8]{1,0}) tuple(rows, columns, splat, both, scaled, apart)
}
)";

TEST(IsUniformTest, FollowsFromWhatMakesIt) {
  const absl::StatusOr<Module> module = ReadModuleText(kValues);
  ASSERT_TRUE(module.ok()) << module.status();
  const FlatGraph graph = Flatten(*module);
  std::string found;
  for (const OpId output : graph.outputs) {
    const ValueId value = graph.ops[output].operands[0];
    found += IsUniform(graph, value, 0) ? "d" : "-";
    found += IsUniform(graph, value, 1) ? "d" : "-";
    found += IsUniform(graph, value) ? "! " : "  ";
  }
  EXPECT_EQ(found, "-d  d-  dd! --  d-  --  ");
}

struct PlacesCase {
  const char* name;
  const char* shape;
  const char* text;  // Of x f32[6,4,8] and y f32[1,4,8] at i.
  bool keeps;
};

class KeepsPlacesTest : public testing::TestWithParam<PlacesCase> {};

// Of arrays that left as f32[4,8].
TEST_P(KeepsPlacesTest, OfEachElement) {
  const std::string shape = GetParam().shape;
  const std::string text =
      "HloModule places\nENTRY main {\n"
      "  x = f32[6,4,8]{2,1,0} parameter(0)\n"
      "  y = f32[1,4,8]{2,1,0} parameter(1)\n"
      "  i = s32[] parameter(2)\n"
      "  w = f32[4,8]{1,0} parameter(3)\n"
      "  ROOT z = " +
      shape + " " + GetParam().text + "\n}\n";
  const absl::StatusOr<Module> module = ReadModuleText(text);
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_EQ(KeepsPlaces(*module->entry()->root(), /*rank=*/2),
            GetParam().keeps);
}

INSTANTIATE_TEST_SUITE_P(
    Operations, KeepsPlacesTest,
    testing::ValuesIn<PlacesCase>({
        {"Stacked", "f32[6,4,8]{2,1,0}", "dynamic-update-slice(x, y, i, i, i)",
         true},
        {"OfAStack", "f32[1,4,8]{2,1,0}",
         "dynamic-slice(x, i, i, i), dynamic_slice_sizes={1,4,8}", true},
        {"RowsOfAStack", "f32[6,1,8]{2,1,0}",
         "dynamic-slice(x, i, i, i), dynamic_slice_sizes={6,1,8}", false},
        {"RowsOfItself", "f32[1,8]{1,0}",
         "dynamic-slice(w, i, i), dynamic_slice_sizes={1,8}", false},
        {"WithOnes", "f32[4,8]{1,0}", "reshape(y)", true},
        {"InOtherDimensions", "f32[8,4]{1,0}", "reshape(y)", false},
        {"Elementwise", "f32[4,8]{1,0}", "tanh(w)", true},
        {"Transposed", "f32[8,4]{1,0}", "transpose(w), dimensions={1,0}",
         false},
    }),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace meshwright
