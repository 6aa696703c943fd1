#include "meshwright/cost/rates.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/mesh/cluster_file.h"

namespace meshwright {
namespace {

using testing::HasSubstr;

TEST(CurveTest, LinesBetweenLogarithms) {
  const Curve curve{.points = {{1e6, 1e9}, {1e8, 4e9}, {1e9, 4e9}}};
  EXPECT_DOUBLE_EQ(curve.At(1e6), 1e9);
  EXPECT_NEAR(curve.At(1e7), 2e9, 1);
  EXPECT_DOUBLE_EQ(curve.At(3e8), 4e9);
  EXPECT_DOUBLE_EQ(curve.At(1), 1e9);  // Beyond the ends.
  EXPECT_DOUBLE_EQ(curve.At(1e12), 4e9);
  EXPECT_DOUBLE_EQ(Curve().At(1), 0);
}

TEST(RatesTest, CollectivesBetweenKnownSizes) {
  Rates rates;
  rates.levels.resize(1);
  rates.levels[0].kinds[KindIndex(MoveKind::kAllReduce)] = {{2, 10e-6, 1e-9},
                                                            {8, 30e-6, 3e-9}};
  const CollectiveRate four = rates.Of(MoveKind::kAllReduce, 0, 4);
  EXPECT_DOUBLE_EQ(four.latency, 20e-6);
  EXPECT_DOUBLE_EQ(four.per_byte, 2e-9);
  // Latency goes on, the rate does not.
  const CollectiveRate many = rates.Of(MoveKind::kAllReduce, 0, 32);
  EXPECT_DOUBLE_EQ(many.latency, 50e-6);
  EXPECT_DOUBLE_EQ(many.per_byte, 3e-9);
}

TEST(AssumedRatesTest, OfAnAccelerator) {
  const Cluster cluster = ParseClusterSpec("h200:2x8", {}).value();
  const Rates rates = AssumedRates(cluster);
  EXPECT_DOUBLE_EQ(rates.Matmul(ElementType::kBF16).At(1e15), 0.8 * 989e12);
  EXPECT_LT(rates.Matmul(ElementType::kBF16).At(1e9), 0.25 * 989e12);
  EXPECT_DOUBLE_EQ(rates.Matmul(ElementType::kF32).At(1e15), 0.8 * 495e12);
  EXPECT_DOUBLE_EQ(rates.Matmul(ElementType::kF8E5M2).At(1e15), 0.8 * 1979e12);
  EXPECT_DOUBLE_EQ(rates.memory.At(1e9), 0.85 * 4800e9);
  EXPECT_DOUBLE_EQ(rates.op_seconds.value, 1e-6);
  ASSERT_EQ(rates.levels.size(), 2u);
  // 4 us to start, and there and back three hops of 3 us.
  EXPECT_NEAR(rates.Of(MoveKind::kAllReduce, 0, 8).latency, 22e-6, 1e-12);
  EXPECT_NEAR(rates.Of(MoveKind::kAllGather, 0, 8).latency, 13e-6, 1e-12);
  EXPECT_NEAR(rates.Of(MoveKind::kPermute, 0, 8).latency, 7e-6, 1e-12);
  EXPECT_NEAR(rates.Of(MoveKind::kAllReduce, 1, 2).per_byte, 1 / (0.85 * 50e9),
              1e-20);
}

TEST(AssumedRatesTest, VirtualDevicesTakeTurns) {
  const Machine machine{.cores = 2, .memory_bytes = int64_t{1} << 34};
  const Rates two = AssumedRates(ParseClusterSpec("cpu:2", machine).value());
  const Rates eight = AssumedRates(ParseClusterSpec("cpu:8", machine).value());
  EXPECT_DOUBLE_EQ(two.Matmul(ElementType::kF32).Last(),
                   4 * eight.Matmul(ElementType::kF32).Last());
  EXPECT_DOUBLE_EQ(two.memory.Last(), 4 * eight.memory.Last());
  EXPECT_DOUBLE_EQ(4 * two.op_seconds.value, eight.op_seconds.value);
  EXPECT_EQ(eight.overlap.value, 0);
  EXPECT_EQ(eight.device, "8 x cpu on 2 cores");
  // A contraction is as efficient as on a core of its own.
  const Curve& shared = eight.Matmul(ElementType::kF32);
  EXPECT_DOUBLE_EQ(4 * shared.At(1e5), two.Matmul(ElementType::kF32).At(1e5));
}

TEST(AssumedRatesTest, VirtualDevicesMeetInMemory) {
  const Machine machine{.cores = 2, .memory_bytes = int64_t{1} << 34};
  const Rates rates = AssumedRates(ParseClusterSpec("cpu:8", machine).value());
  // Each waits for all others of its group.
  EXPECT_DOUBLE_EQ(rates.Of(MoveKind::kAllGather, 0, 8).latency,
                   4 * rates.Of(MoveKind::kAllGather, 0, 2).latency);
  // Of two shards both are copied, and one counts as sent; of eight, seven do.
  const double byte = 1 / rates.memory.Last();
  EXPECT_DOUBLE_EQ(rates.Of(MoveKind::kAllGather, 0, 2).per_byte, 4 * byte);
  EXPECT_DOUBLE_EQ(rates.Of(MoveKind::kAllGather, 0, 8).per_byte,
                   16.0 / 7 * byte);
  EXPECT_LT(rates.Of(MoveKind::kAllReduce, 0, 8).per_byte,
            rates.Of(MoveKind::kAllToAll, 0, 8).per_byte);
}

TEST(RatesJsonTest, RoundTrip) {
  Rates rates = AssumedRates(ParseClusterSpec("a100:2x4", {}).value());
  rates.op_seconds = {1.25e-6, Origin::kCalibrated};
  rates.memory.origin = Origin::kProfiled;
  rates.window_elements.points = {{1, 5e-9}, {16, 1e-9}};
  rates.window_gaps = {1.5, Origin::kCalibrated};
  const auto again = ParseRates(ToJson(rates));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(*again, rates);
  EXPECT_THAT(rates.ToString(), HasSubstr("calibrated"));
}

TEST(RatesJsonTest, OlderOnesLackTheBatch) {
  Rates rates = AssumedRates(ParseClusterSpec("a100:2x4", {}).value());
  std::string text = ToJson(rates);
  const size_t at = text.find("\"batch_together\"");
  ASSERT_NE(at, std::string::npos);
  text.replace(at, 16, "\"batch_else_____\"");
  rates.batch_together = {};
  EXPECT_EQ(ParseRates(text).value(), rates);
}

TEST(RatesJsonTest, SaysWhatIsWrong) {
  const auto message = [](absl::string_view text) {
    return std::string(ParseRates(text).status().message());
  };
  EXPECT_THAT(message("{"), HasSubstr("no JSON object"));
  EXPECT_THAT(message("{}"), HasSubstr("no \"device\""));
  EXPECT_THAT(message(R"({"device":"x","matmul":{"f31":{}}})"),
              HasSubstr("\"f31\""));
  EXPECT_THAT(message(R"({"device":"x","matmul":{"f32":{"origin":"assumed",
                          "points":[[2,1],[1,1]]}}})"),
              HasSubstr("f32: sizes must ascend"));
  EXPECT_THAT(message(R"({"device":"x","matmul":{"f32":{"origin":"guess",
                          "points":[]}}})"),
              HasSubstr("origin"));
}

}  // namespace
}  // namespace meshwright
