#include "meshwright/mesh/cluster_mesh.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/mesh/cluster_file.h"

namespace meshwright {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Hosts of `devices` that share a port outwards, `hosts` of them.
Cluster Hosts(int64_t hosts, int64_t devices) {
  Cluster cluster;
  cluster.hosts.resize(hosts);
  for (Host& host : cluster.hosts) host.devices = devices;
  cluster.levels = {{"host", devices, 3600, 3, 1},
                    {"cluster", hosts * devices, 400, 8, devices}};
  return cluster;
}

AxisList Axes(const Mesh& mesh, std::vector<std::string> names) {
  AxisList axes;
  for (const std::string& name : names) {
    axes.Append(mesh.SubAxes(*mesh.FindAxis(name)));
  }
  return axes;
}

TEST(LinkOfTest, TwoHostsOfFour) {
  const Cluster cluster = Hosts(2, 4);
  Mesh mesh = Mesh::Parse("data=2,model=4").value();
  EXPECT_EQ(LinkOf(cluster, mesh, Axes(mesh, {"model"})),
            (LinkUse{.level = 0, .parts = 4, .members = 1, .groups = 1}));
  EXPECT_EQ(LinkOf(cluster, mesh, Axes(mesh, {"data"})),
            (LinkUse{.level = 1, .parts = 2, .members = 1, .groups = 4}));
  EXPECT_THAT(LinksOf(cluster, mesh, mesh.AllSubAxes()),
              ElementsAre(LinkUse{.level = 0, .parts = 4},
                          LinkUse{.level = 1, .parts = 2, .members = 4}));
  EXPECT_THAT(LinksOf(cluster, mesh, {}), IsEmpty());
  EXPECT_EQ(LinkOf(cluster, mesh, {}).level, -1);
  mesh = Mesh::Parse("data=4,model=2").value();
  EXPECT_THAT(
      LinksOf(cluster, mesh, Axes(mesh, {"data"})),
      ElementsAre(LinkUse{.level = 0, .parts = 2},
                  LinkUse{.level = 1, .parts = 2, .members = 2, .groups = 2}));
  // The minor half of data stays inside a host.
  EXPECT_EQ(LinkOf(cluster, mesh, {1}).level, 0);
  EXPECT_EQ(LinkOf(cluster, mesh, {0}).level, 1);
}

TEST(LinkOfTest, PortsPerDeviceAreNotShared) {
  Cluster cluster = Hosts(2, 4);
  cluster.levels[1].port_devices = 1;
  const Mesh mesh = Mesh::Parse("data=2,model=4").value();
  EXPECT_EQ(LinkOf(cluster, mesh, Axes(mesh, {"data"})),
            (LinkUse{.level = 1, .parts = 2, .members = 1, .groups = 1}));
}

TEST(LinkOfTest, SubmeshesByTheirFirstDevice) {
  const Cluster cluster = Hosts(2, 4);
  const Mesh mesh = Mesh::Parse("model=4").value();
  EXPECT_EQ(LinkOf(cluster, mesh, mesh.AllSubAxes(), 4).level, 0);
  EXPECT_EQ(LinkOf(cluster, mesh, mesh.AllSubAxes(), 2),
            (LinkUse{.level = 1, .parts = 2, .members = 2, .groups = 1}));
}

// What LinksOf says, by looking at every pair and every port.
std::vector<LinkUse> SlowLinksOf(const Cluster& cluster, const Mesh& mesh,
                                 const AxisList& axes, int64_t first) {
  std::vector<LinkUse> uses;
  for (size_t l = 0; l < cluster.levels.size(); ++l) {
    const LinkLevel& level = cluster.levels[l];
    const int64_t inner = l == 0 ? 1 : cluster.levels[l - 1].devices;
    LinkUse use{.level = static_cast<int32_t>(l)};
    std::map<int64_t, std::set<size_t>> groups_at;  // By port.
    const auto groups = mesh.Groups(axes);
    for (size_t g = 0; g < groups.size(); ++g) {
      std::map<int64_t, std::set<int64_t>> parts;  // By block of the level.
      std::map<int64_t, int64_t> members;          // By port.
      bool crosses = false;
      for (const int64_t a : groups[g]) {
        parts[(a + first) / level.devices].insert((a + first) / inner);
        ++members[(a + first) / level.port_devices];
        for (const int64_t b : groups[g]) {
          crosses |= (a + first) / inner != (b + first) / inner &&
                     (a + first) / level.devices == (b + first) / level.devices;
        }
      }
      if (!crosses) continue;
      for (const auto& [block, inside] : parts) {
        use.parts = std::max(use.parts, std::ssize(inside));
      }
      for (const auto& [port, count] : members) {
        use.members = std::max(use.members, count);
        groups_at[port].insert(g);
      }
    }
    for (const auto& [port, some] : groups_at) {
      use.groups = std::max(use.groups, std::ssize(some));
    }
    if (!groups_at.empty()) uses.push_back(use);
  }
  return uses;
}

TEST(LinkOfTest, AgreesWithBruteForce) {
  std::mt19937 random(7);
  const auto pick = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  for (int trial = 0; trial < 300; ++trial) {
    Cluster cluster = Hosts(1, 1);
    cluster.levels.clear();
    int64_t devices = 1;
    for (int64_t levels = pick(1, 4); levels > 0; --levels) {
      const int64_t inner = devices;
      devices *= pick(1, 4);
      const int64_t port = pick(0, 1) == 0 ? 1 : inner;
      cluster.levels.push_back({"l", devices, 1, 1, port});
    }
    cluster.hosts[0].devices = devices;
    // A mesh over some of it, in any order.
    std::vector<MeshAxis> axes;
    int64_t left = devices;
    for (const char* name : {"a", "b", "c"}) {
      const int64_t size = pick(1, std::min<int64_t>(left, 6));
      axes.push_back({name, size});
      left /= size;
    }
    Mesh mesh = Mesh::Create(axes).value();
    if (pick(0, 1) == 1) {
      std::vector<int64_t> ids(mesh.device_count());
      std::iota(ids.begin(), ids.end(), 0);
      std::shuffle(ids.begin(), ids.end(), random);
      mesh = Mesh::Create(axes, ids).value();
    }
    const int64_t first = pick(0, devices - mesh.device_count());
    AxisList some;
    for (const AxisId axis : mesh.AllSubAxes()) {
      if (pick(0, 1) == 1) some.push_back(axis);
    }
    EXPECT_EQ(LinksOf(cluster, mesh, some, first),
              SlowLinksOf(cluster, mesh, some, first));
  }
}

// Each of thousands of subsets in time that does not depend on the number of
// devices: else this takes hours.
TEST(LinkOfTest, LargeClustersTakeNoLonger) {
  const Cluster cluster = Hosts(100'000, 8);
  const Mesh mesh = Mesh::Parse("x=160000,y=5").value();
  MeshLinks links(cluster, mesh, 0);
  const uint32_t subsets = uint32_t{1} << mesh.sub_axes().size();
  for (uint32_t bits = 1; bits < subsets; ++bits) {
    AxisList axes;
    for (const AxisId axis : mesh.AllSubAxes()) {
      if (bits >> axis & 1) axes.push_back(axis);
    }
    EXPECT_FALSE(links.Of(axes).empty());
  }
}

std::vector<std::string> Names(const std::vector<Mesh>& meshes) {
  std::vector<std::string> names;
  for (const Mesh& mesh : meshes) names.push_back(mesh.ToString());
  return names;
}

TEST(MeshesOnTest, AllFactorisations) {
  EXPECT_THAT(Names(MeshesOn(16, 2)),
              ElementsAre("x=16", "x=8,y=2", "x=4,y=4", "x=2,y=8"));
  EXPECT_THAT(Names(MeshesOn(12)),
              ElementsAre("x=12", "x=6,y=2", "x=4,y=3", "x=3,y=4", "x=2,y=6",
                          "x=3,y=2,z=2", "x=2,y=3,z=2", "x=2,y=2,z=3"));
  EXPECT_THAT(Names(MeshesOn(1)), ElementsAre("x=1"));
  EXPECT_THAT(Names(MeshesOn(7)), ElementsAre("x=7"));
  // 2^10 as one, two and three factors: 1 + 9 + 36.
  EXPECT_EQ(MeshesOn(1024).size(), 46);
}

}  // namespace
}  // namespace meshwright
