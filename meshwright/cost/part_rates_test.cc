#include "meshwright/cost/part_rates.h"

#include "gtest/gtest.h"
#include "meshwright/mesh/cluster_file.h"

namespace meshwright {
namespace {

Cluster TwoKinds() {
  return ParseCluster(R"({"device": {"kind": "h200"}, "hosts":
      [{"devices": 8, "count": 2},
       {"devices": 8, "count": 2, "device": {"kind": "a100-80"},
        "link_speed": 0.5}],
      "links": {"host": {"gbps": 3600, "us": 3},
                "cluster": {"gbps": 400, "us": 8, "per": "device"}}})")
      .value();
}

TEST(PartRatesTest, APartOfOneKindHasItsRates) {
  const Cluster cluster = TwoKinds();
  const Rates rates = AssumedRates(cluster);
  const Rates fast = RatesOfPart(rates, cluster, 0, 16);
  const Cluster alone = ParseClusterSpec("h200:4x8", {}).value();
  const Rates expected = AssumedRates(alone);
  for (const ElementType type : {ElementType::kF32, ElementType::kBF16}) {
    for (const double flops : {1e9, 1e11, 1e13}) {
      EXPECT_NEAR(fast.Matmul(type).At(flops), expected.Matmul(type).At(flops),
                  1e-6 * expected.Matmul(type).At(flops));
    }
  }
  EXPECT_NEAR(fast.memory.At(1e9), expected.memory.At(1e9),
              1e-6 * expected.memory.At(1e9));
  EXPECT_NEAR(fast.vector_flops.value, expected.vector_flops.value, 1e6);
  EXPECT_NEAR(fast.Of(MoveKind::kAllReduce, 1, 4).per_byte,
              expected.Of(MoveKind::kAllReduce, 1, 4).per_byte, 1e-18);
  // The slower ones, and both together, have what the cluster has.
  for (const int64_t first : {0, 16}) {
    const Rates slow = RatesOfPart(rates, cluster, first, first == 0 ? 32 : 16);
    EXPECT_EQ(slow.matmul, rates.matmul);
    EXPECT_EQ(slow.levels, rates.levels);
  }
}

TEST(PartRatesTest, Memory) {
  const Cluster cluster = TwoKinds();
  EXPECT_DOUBLE_EQ(MemoryOfPart(cluster, 0, 8), 141.0 / 80);
  EXPECT_DOUBLE_EQ(MemoryOfPart(cluster, 8, 16), 1);
  EXPECT_DOUBLE_EQ(MeanMemoryOfParts(cluster, 4), (141.0 / 80 + 1) / 2);
  EXPECT_DOUBLE_EQ(
      MeanMemoryOfParts(ParseClusterSpec("h200:4x8", {}).value(), 4), 1);
}

TEST(PartRatesTest, Speeds) {
  const Cluster cluster = TwoKinds();
  EXPECT_DOUBLE_EQ(SpeedOfPart(cluster, 0, 8), 989.0 / 312);
  EXPECT_DOUBLE_EQ(SpeedOfPart(cluster, 8, 16), 1);
  EXPECT_DOUBLE_EQ(MeanSpeedOfParts(cluster, 1), 1);
  EXPECT_DOUBLE_EQ(MeanSpeedOfParts(cluster, 4), (989.0 / 312 + 1) / 2);
  EXPECT_DOUBLE_EQ(
      MeanSpeedOfParts(ParseClusterSpec("h200:4x8", {}).value(), 4), 1);
}

}  // namespace
}  // namespace meshwright
