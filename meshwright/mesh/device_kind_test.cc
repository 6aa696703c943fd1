#include "meshwright/mesh/device_kind.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace meshwright {
namespace {

using testing::IsSupersetOf;

TEST(DeviceKindTest, TableIsComplete) {
  EXPECT_THAT(KnownDeviceKinds(),
              IsSupersetOf({"v100", "a100", "a100-40", "a100-80", "h100",
                            "h200", "b200", "tpu-v5p", "cpu"}));
  for (const std::string& name : KnownDeviceKinds()) {
    const DeviceKind* kind = FindDeviceKind(name);
    ASSERT_NE(kind, nullptr);
    EXPECT_EQ(kind->name, name);
    for (const TflopsField& field : TflopsFields()) {
      EXPECT_GT(kind->tflops.*field.member, 0) << name << " " << field.name;
    }
    EXPECT_GT(kind->memory_gib, 0) << name;
    EXPECT_GT(kind->memory_gbps, 0) << name;
    // Inside a host is never slower than between hosts.
    EXPECT_GE(kind->host.gbps, kind->cluster.gbps) << name;
    EXPECT_LE(kind->host.us, kind->cluster.us) << name;
    EXPECT_TRUE(kind->host.per_device) << name;
  }
  EXPECT_EQ(FindDeviceKind("abacus"), nullptr);
}

TEST(DeviceKindTest, RatesByElementType) {
  const Tflops rates = {1, 2, 3, 4, 5, 6, 7};
  const std::pair<ElementType, double> matmul[] = {
      {ElementType::kF64, 1},    {ElementType::kC128, 1},
      {ElementType::kF32, 3},    {ElementType::kC64, 3},
      {ElementType::kBF16, 4},   {ElementType::kF16, 5},
      {ElementType::kF8E5M2, 6}, {ElementType::kF8E4M3FN, 6},
      {ElementType::kS8, 7},     {ElementType::kU4, 7},
      {ElementType::kS32, 2},    {ElementType::kS16, 2},
      {ElementType::kPred, 2}};
  for (const auto& [type, expected] : matmul) {
    EXPECT_EQ(MatmulFlops(rates, type), expected * 1e12) << Name(type);
  }
  EXPECT_EQ(VectorFlops(rates, ElementType::kF64), 1e12);
  EXPECT_EQ(VectorFlops(rates, ElementType::kS64), 1e12);
  EXPECT_EQ(VectorFlops(rates, ElementType::kF32), 2e12);
  EXPECT_EQ(VectorFlops(rates, ElementType::kBF16), 2e12);
  EXPECT_EQ(VectorFlops(rates, ElementType::kS32), 2e12);
}

}  // namespace
}  // namespace meshwright
