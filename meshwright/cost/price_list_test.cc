#include "meshwright/cost/price_list.h"

#include "gtest/gtest.h"
#include "meshwright/mesh/cluster_file.h"

namespace meshwright {
namespace {

constexpr double kInside = 1 / 100e9;  // Seconds per byte, a device.
constexpr double kOutside = 1 / 10e9;  // The same, a host.
constexpr double kInsideLatency = 1e-6;
constexpr double kOutsideLatency = 10e-6;

// `hosts` of `devices`, each host with one port.
Cluster Hosts(int64_t hosts, int64_t devices) {
  Cluster cluster;
  cluster.hosts.resize(hosts);
  for (Host& host : cluster.hosts) host.devices = devices;
  cluster.levels = {{"host", devices, 800, 1, 1},
                    {"cluster", hosts * devices, 80, 10, devices}};
  return cluster;
}

Rates PlainRates() {
  Rates rates;
  rates.matmul[ElementType::kF32].points = {{1, 5e12}};
  rates.memory.points = {{1, 2e12}};
  rates.levels.resize(2);
  for (int kind = 0; kind < 5; ++kind) {
    rates.levels[0].kinds[kind] = {{2, kInsideLatency, kInside}};
    rates.levels[1].kinds[kind] = {{2, kOutsideLatency, kOutside}};
  }
  return rates;
}

uint32_t Bits(const Mesh& mesh, std::vector<std::string> names) {
  uint32_t bits = 0;
  for (const std::string& name : names) {
    bits |= mesh.SubAxes(*mesh.FindAxis(name)).Bits();
  }
  return bits;
}

struct PriceCase {
  std::string name;
  MoveKind kind;
  std::vector<std::string> axes;
  double bytes;    // Of the operand on one device.
  double seconds;  // Without latency.
  double latency;
};

class PriceTest : public testing::TestWithParam<PriceCase> {};

// Two hosts of four devices, mesh data=2,model=4.
TEST_P(PriceTest, TwoHostsOfFour) {
  const PriceCase& test = GetParam();
  const Cluster cluster = Hosts(2, 4);
  const Mesh mesh = Mesh::Parse("data=2,model=4").value();
  const Prices prices = PricesFor(PlainRates(), cluster, mesh);
  const uint32_t bits = Bits(mesh, test.axes);
  const CollectivePrice& price = prices.Of(test.kind, bits);
  EXPECT_DOUBLE_EQ(price.latency, test.latency);
  int64_t devices = 1;
  for (size_t i = 0; i < mesh.sub_axes().size(); ++i) {
    if (bits >> i & 1) devices *= mesh.sub_axes()[i].size;
  }
  EXPECT_NEAR(price.per_wire_byte * WireBytes(test.kind, devices, test.bytes),
              test.seconds, 1e-9 * test.seconds);
}

INSTANTIATE_TEST_SUITE_P(
    Table, PriceTest,
    testing::ValuesIn<PriceCase>({
        {"AllReduceInside",
         MoveKind::kAllReduce,
         {"model"},
         1e9,
         1.5e9 * kInside,
         kInsideLatency},
        // The four groups of a host share its port.
        {"AllReduceAcross",
         MoveKind::kAllReduce,
         {"data"},
         1e9,
         4 * 1e9 * kOutside,
         kOutsideLatency},
        // The four of a host send a quarter each.
        {"AllReduceOfAll",
         MoveKind::kAllReduce,
         {"data", "model"},
         1e9,
         4 * 0.25e9 * kOutside,
         kInsideLatency + kOutsideLatency},
        {"ReduceScatterOfAll",
         MoveKind::kReduceScatter,
         {"data", "model"},
         1e9,
         4 * 0.125e9 * kOutside,
         kInsideLatency + kOutsideLatency},
        // Each sends its gigabyte once to the other host.
        {"AllGatherOfAll",
         MoveKind::kAllGather,
         {"data", "model"},
         1e9,
         4 * 1e9 * kOutside,
         kInsideLatency + kOutsideLatency},
        {"AllGatherInside",
         MoveKind::kAllGather,
         {"model"},
         1e9,
         3e9 * kInside,
         kInsideLatency},
        // Half of what each of the four has is for the other host.
        {"AllToAllOfAll",
         MoveKind::kAllToAll,
         {"data", "model"},
         1e9,
         4 * 0.5e9 * kOutside,
         kInsideLatency + kOutsideLatency},
        {"PermuteAcross",
         MoveKind::kPermute,
         {"data"},
         1e9,
         4 * 1e9 * kOutside,
         kOutsideLatency},
    }),
    [](const auto& test) { return test.param.name; });

// Rails, pods and a spine: 8 hosts of 4, two hosts to a pod. Every device has
// a port of 20 GB/s into its rail; on the spine it gets a quarter of that.
TEST(PricesForTest, ThreeLevels) {
  Cluster cluster = Hosts(8, 4);
  cluster.levels = {{"host", 4, 800, 1, 1},
                    {"rail", 8, 160, 5, 1},
                    {"spine", 32, 160, 10, 1, /*oversubscription=*/4}};
  EXPECT_DOUBLE_EQ(cluster.levels[2].BytesPerSecond(), 5e9);
  constexpr double kRail = 1 / 20e9, kSpine = 1 / 5e9;
  Rates rates = PlainRates();
  rates.levels.resize(3);
  for (int kind = 0; kind < 5; ++kind) {
    rates.levels[1].kinds[kind] = {{2, 5e-6, kRail}};
    rates.levels[2].kinds[kind] = {{2, 10e-6, kSpine}};
  }
  const Mesh mesh = Mesh::Parse("spine=4,rail=2,host=4").value();
  const auto seconds = [&](const Cluster& on, MoveKind kind,
                           std::vector<std::string> axes) {
    const uint32_t bits = Bits(mesh, axes);
    int64_t devices = 1;
    for (const std::string& axis : axes) {
      devices *= mesh.Size(mesh.SubAxes(*mesh.FindAxis(axis)));
    }
    return PricesFor(rates, on, mesh).Of(kind, bits).per_wire_byte *
           WireBytes(kind, devices, 1e9);
  };
  // Scattered over four, reduced in pairs, reduced among four pods: an eighth
  // of the gigabyte, three quarters of it sent twice.
  const std::vector<std::string> all = {"spine", "rail", "host"};
  EXPECT_NEAR(seconds(cluster, MoveKind::kAllReduce, all),
              2 * 0.75 * 1e9 / 8 * kSpine, 1e-9);
  const Prices prices = PricesFor(rates, cluster, mesh);
  EXPECT_DOUBLE_EQ(prices.Of(MoveKind::kAllReduce, Bits(mesh, all)).latency,
                   16e-6);
  // With a spine as fast as rails the ports count, which carry both: the pair's
  // half of a quarter, and what goes to other pods.
  Cluster fast = cluster;
  for (int kind = 0; kind < 5; ++kind) {
    rates.levels[2].kinds[kind] = {{2, 10e-6, kRail}};
  }
  EXPECT_NEAR(seconds(fast, MoveKind::kAllReduce, all),
              (2 * 0.5 * 1e9 / 4 + 2 * 0.75 * 1e9 / 8) * kRail, 1e-9);
  // One port for a pod, as fast as all of its devices': a device that sends to
  // other pods still has its own alone.
  fast.levels[2].port_devices = 8;
  for (int kind = 0; kind < 5; ++kind) {
    rates.levels[2].kinds[kind] = {{2, 10e-6, kRail / 16}};
  }
  EXPECT_NEAR(seconds(fast, MoveKind::kPermute, {"spine"}), 1e9 * kRail, 1e-9);
  // Inside a host nothing of that is on the way.
  EXPECT_NEAR(seconds(fast, MoveKind::kAllReduce, {"host"}), 1.5e9 * kInside,
              1e-9);
}

// Level by level against one ring through all devices in order: of those of a
// block one sends outwards, all that it passes on.
TEST(PricesForTest, LevelByLevelIsNoSlowerThanARing) {
  for (const int64_t hosts : {2, 3, 16}) {
    for (const int64_t devices : {2, 8}) {
      for (const int64_t port : {int64_t{1}, devices}) {
        Cluster cluster = Hosts(hosts, devices);
        cluster.levels[1].port_devices = port;
        const Mesh mesh = Mesh::Create({{"x", hosts * devices}}).value();
        const Prices prices = PricesFor(PlainRates(), cluster, mesh);
        const uint32_t bits = Bits(mesh, {"x"});
        for (const MoveKind kind : {MoveKind::kAllReduce, MoveKind::kAllGather,
                                    MoveKind::kReduceScatter}) {
          EXPECT_LE(prices.Of(kind, bits).per_wire_byte, 1.0001 * kOutside)
              << hosts << " x " << devices << ", port " << port;
        }
      }
    }
  }
}

TEST(PricesForTest, LocalWorkAndTheLeast) {
  const Cluster cluster = Hosts(2, 4);
  const Mesh mesh = Mesh::Parse("data=2,model=4").value();
  const Prices prices = PricesFor(PlainRates(), cluster, mesh);
  EXPECT_DOUBLE_EQ(prices.per_flop, 1 / 5e12);
  EXPECT_DOUBLE_EQ(prices.per_local_byte, 1e-12);
  ASSERT_EQ(prices.by_axes.size(), 8u);
  EXPECT_DOUBLE_EQ(prices.Least().latency, kInsideLatency);
  EXPECT_GT(prices.Least().per_wire_byte, 0);
}

TEST(PricesForTest, OneDevice) {
  const Cluster cluster = Hosts(1, 1);
  const Prices prices =
      PricesFor(PlainRates(), cluster, Mesh::Parse("x=1").value());
  EXPECT_EQ(prices.by_axes.size(), 1u);
}

// The shortcut by sub-axes against the search device by device.
TEST(LinksBySubsetTest, EqualsLinksOf) {
  const std::vector<std::string> meshes = {
      "x=2,y=4",     "x=4,y=2", "x=2,y=2,z=2", "x=12",    "x=4,y=3",
      "x=3,y=4",     "x=6,y=2", "x=2,y=3,z=2", "x=8,y=3", "x=16",
      "x=2,y=8,z=2", "x=5,y=2", "x=32",        "x=1,y=1"};
  int compared = 0;
  for (const std::string& text : meshes) {
    const Mesh mesh = Mesh::Parse(text).value();
    for (const auto& [hosts, devices] : std::vector<std::pair<int, int>>{
             {1, 32}, {2, 16}, {4, 8}, {8, 4}, {16, 2}, {4, 9}, {6, 6}}) {
      for (const int64_t port : {int64_t{1}, int64_t{devices}}) {
        for (const int64_t first : {0, 2, 4, devices}) {
          Cluster cluster = Hosts(hosts, devices);
          cluster.levels[1].port_devices = port;
          if (first + mesh.device_count() > cluster.device_count()) continue;
          const auto links = LinksBySubset(cluster, mesh, first);
          for (uint32_t bits = 1; bits < links.size(); ++bits) {
            AxisList axes;
            for (AxisId i = 0; bits >> i != 0; ++i) {
              if (bits >> i & 1) axes.push_back(i);
            }
            EXPECT_EQ(links[bits], LinksOf(cluster, mesh, axes, first))
                << text << " from " << first << " on " << hosts << " x "
                << devices << ", axes " << bits << ", port " << port;
            ++compared;
          }
        }
      }
    }
  }
  EXPECT_GT(compared, 1000);
}

TEST(LinksBySubsetTest, PermutedDevices) {
  const Cluster cluster = Hosts(2, 4);
  const Mesh mesh = Mesh::Create({{"x", 8}}, {0, 4, 1, 5, 2, 6, 3, 7}).value();
  const auto links = LinksBySubset(cluster, mesh);
  EXPECT_EQ(links[4], LinksOf(cluster, mesh, {2}));
  ASSERT_EQ(links[4].size(), 1u);
  EXPECT_EQ(links[4][0].level, 1);  // Neighbours are on different hosts.
}

TEST(PricesForTest, ManyDevices) {
  const Cluster cluster = ParseClusterSpec("h200:64x8", {}).value();
  const Mesh mesh = Mesh::Parse("x=16,y=4,z=8").value();
  const Prices prices = PricesFor(AssumedRates(cluster), cluster, mesh);
  EXPECT_EQ(prices.by_axes.size(), 512u);
  for (const auto& kinds : prices.by_axes) {
    for (const CollectivePrice& price : kinds) {
      EXPECT_GT(price.latency, 0);
      EXPECT_GT(price.per_wire_byte, 0);
    }
  }
}

}  // namespace
}  // namespace meshwright
