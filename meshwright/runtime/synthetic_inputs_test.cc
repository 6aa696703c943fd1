#include "meshwright/runtime/synthetic_inputs.h"

#include <cmath>
#include <map>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/hlo/read_text.h"
#include "meshwright/hlo/verify.h"

namespace meshwright {
namespace {

// A norm and a product, of state; the same of data.
constexpr char kStateStep[] =
    R"(HloModule m, input_output_alias={ {0}: (0, {}, may-alias), {1}: (1, {}, may-alias), {2}: (2, {}, may-alias) }
ENTRY main {
  scale = f32[64] parameter(0)
  w = f32[64,16] parameter(1)
  nu = f32[64] parameter(2)
  x = f32[8,64] parameter(3)
  d = f32[64] parameter(4)
  scales = f32[8,64] broadcast(scale), dimensions={1}
  normed = f32[8,64] multiply(x, scales)
  ds = f32[8,64] broadcast(d), dimensions={1}
  weighed = f32[8,64] multiply(normed, ds)
  y = f32[8,16] dot(weighed, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  root = f32[64] sqrt(nu)
  ROOT all = (f32[64], f32[64,16], f32[64], f32[8,16]) tuple(scale, w, root, y)
})";

TEST(ForEachSyntheticTest, StateIsWellConditioned) {
  const absl::StatusOr<Module> module = ReadModuleText(kStateStep);
  ASSERT_TRUE(module.ok()) << module.status();
  ASSERT_TRUE(Verify(*module).ok()) << Verify(*module);
  struct Span {
    double least = INFINITY;
    double most = -INFINITY;
  };
  std::map<int64_t, Span> spans;
  ASSERT_TRUE(ForEachSynthetic(*module, AnalyzeRoles(*module), 0,
                               [&](int64_t number, Tensor tensor) {
                                 const Literal values = AsLiteral(tensor);
                                 Span& span = spans[number];
                                 for (const float v : values.Values<float>()) {
                                   span.least = std::min<double>(span.least, v);
                                   span.most = std::max<double>(span.most, v);
                                 }
                                 return absl::OkStatus();
                               })
                  .ok());
  EXPECT_GT(spans[0].least, 0.79);
  EXPECT_LT(spans[0].most, 1.21);
  EXPECT_NEAR(spans[1].most, 1.0 / 8, 0.01);
  EXPECT_NEAR(spans[1].least, -1.0 / 8, 0.01);
  EXPECT_GT(spans[2].least, 0);
  EXPECT_LE(spans[2].most, 0.02);
  // Data are as they come, whatever they are used for.
  for (const int64_t data : {3, 4}) {
    EXPECT_LE(spans[data].most, 0.02);
    EXPECT_LT(spans[data].least, -0.015);
  }
}

}  // namespace
}  // namespace meshwright
