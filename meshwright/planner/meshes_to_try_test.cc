#include "meshwright/planner/meshes_to_try.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace meshwright {
namespace {

struct Time {
  std::string mesh;
  double seconds;
};

bool Hopeless(const std::string& mesh, const std::vector<Time>& times) {
  std::vector<SettingTime> known;
  for (const Time& time : times) {
    known.push_back({{Mesh::Parse(time.mesh).value()}, time.seconds});
  }
  return IsHopeless(Mesh::Parse(mesh).value(), known, {});
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
  EXPECT_TRUE(Hopeless("x=2048,y=8", times));
}

// It gets better and better on the way to them.
TEST(IsHopelessTest, NotThoseBeyondTheBest) {
  const std::vector<Time> times = {
      {"x=512,y=8", 0.9}, {"x=256,y=16", 0.5}, {"x=128,y=32", 0.3}};
  EXPECT_FALSE(Hopeless("x=64,y=64", times));
  EXPECT_TRUE(Hopeless("x=1024,y=4", times));
}

}  // namespace
}  // namespace meshwright
