#include "meshwright/planner/meshes_to_try.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "meshwright/mesh/cluster_file.h"

namespace meshwright {
namespace {

struct Time {
  std::string mesh;
  double seconds;
};

bool Hopeless(const std::string& mesh, const std::vector<Time>& times) {
  const Cluster cluster = ParseClusterSpec("h200:2048x8", {}).value();
  std::vector<MeshTime> known;
  double best = times[0].seconds;
  for (const Time& time : times) {
    known.push_back({Mesh::Parse(time.mesh).value(), time.seconds, nullptr});
    best = std::min(best, time.seconds);
  }
  return IsHopeless(Mesh::Parse(mesh).value(), known, best, cluster);
}

TEST(IsHopelessTest, BeyondOneThatIsFarBehind) {
  const std::vector<Time> times = {{"x=2048,y=8", 1}, {"x=1024,y=16", 50}};
  EXPECT_TRUE(Hopeless("x=1024,y=16", times));
  EXPECT_TRUE(Hopeless("x=512,y=32", times));
  EXPECT_FALSE(Hopeless("x=4096,y=4", times));
  EXPECT_FALSE(Hopeless("x=16384", times));
}

TEST(IsHopelessTest, NotOneThatIsKnownToBeGood) {
  const std::vector<Time> times = {{"x=2048,y=8", 97},
                                   {"x=1024,y=16", 49},
                                   {"x=512,y=32", 2.07},
                                   {"x=256,y=64", 2.7}};
  EXPECT_FALSE(Hopeless("x=512,y=32", times));
  EXPECT_FALSE(Hopeless("x=256,y=64", times));
  EXPECT_TRUE(Hopeless("x=128,y=128", times));
  EXPECT_TRUE(Hopeless("x=2048,y=8", times));
}

}  // namespace
}  // namespace meshwright
