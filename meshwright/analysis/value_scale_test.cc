#include "meshwright/analysis/value_scale.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/hlo/read_text.h"

namespace meshwright {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

Module Read(const std::string& lines) {
  absl::StatusOr<Module> module =
      ReadModuleText("HloModule m\nENTRY main {\n" + lines + "\n}");
  EXPECT_TRUE(module.ok()) << module.status();
  return *std::move(module);
}

TEST(ContractedSizesTest, AreThoseOfTheLargestDot) {
  const Module module = Read(R"(
  x = f32[8,32] parameter(0)
  w = f32[64,32] parameter(1)
  b = f32[64] parameter(2)
  turned = f32[32,64] transpose(w), dimensions={1,0}
  y = f32[8,64] dot(x, turned), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  bs = f32[8,64] broadcast(b), dimensions={1}
  z = f32[8,64] add(y, bs)
  ROOT g = f32[8,32] dot(z, w), lhs_contracting_dims={1}, rhs_contracting_dims={0})");
  EXPECT_THAT(ContractedSizes(module), ElementsAre(Pair(0, 32), Pair(1, 64)));
}

TEST(ContractedSizesTest, OfKernels) {
  const Module module = Read(R"(
  x = f32[8,16,16,3] parameter(0)
  w = f32[5,5,3,32] parameter(1)
  ROOT y = f32[8,12,12,32] convolution(x, w), window={size=5x5}, dim_labels=b01f_01io->b01f)");
  EXPECT_THAT(ContractedSizes(module), ElementsAre(Pair(1, 75)));
}

TEST(RepeatedFactorsTest, AreScalesOfNorms) {
  const Module module = Read(R"(
  x = f32[8,32] parameter(0)
  scale = f32[32] parameter(1)
  bias = f32[32] parameter(2)
  rate = f32[] parameter(3)
  mask = f32[8,32] parameter(4)
  moment = f32[32] parameter(5)
  scales = f32[8,32] broadcast(scale), dimensions={1}
  biases = f32[8,32] broadcast(bias), dimensions={1}
  rates = f32[8,32] broadcast(rate), dimensions={}
  y = f32[8,32] multiply(x, scales)
  z = f32[8,32] add(y, biases)
  u = f32[8,32] multiply(z, mask)
  v = f32[8,32] multiply(u, rates)
  decay = f32[] constant(0.9)
  decays = f32[32] broadcast(decay), dimensions={}
  next = f32[32] multiply(moment, decays)
  ROOT all = (f32[8,32], f32[32]) tuple(v, next))");
  EXPECT_THAT(RepeatedFactors(module), ElementsAre(1));
}

}  // namespace
}  // namespace meshwright
