#include "meshwright/search/requirements.h"

#include <gtest/gtest.h>

#include "meshwright/search/layers_for_test.h"

namespace meshwright {
namespace {

// A dot splits its rows, its columns or what it sums, along each of three axes.
TEST(OptionMakerTest, OneAxisMayBePlacedOtherwise) {
  const Module module = Layers(1, 64, 64);
  const StepModel model = ModelStep(module, FusionStyleFor(/*cpu=*/false));
  const Mesh mesh = *Mesh::Parse("a=2,b=2,c=2");
  ShardingPool pool;
  const Requirements requirements;
  const OptionMaker maker(model, mesh, requirements, pool);
  GroupId dot{0};
  while (model.op(dot).instruction->name != "dot0") ++dot;
  ASSERT_EQ(maker.For(dot).size(), 4u * 4 * 4);
  OneAxisFree only{.free = OneAxisFree::kAnyAxis};
  only.places.assign(model.groups.count(), AxisPlaces{0, kNowhere, 1});
  const std::vector<Option> near = maker.For(dot, &only);
  EXPECT_EQ(near.size(), 1u + 3 * 3);
  for (const Option& option : near) {
    const AxisPlaces places = AxisPlacesOf(option.strategy, mesh);
    int otherwise = 0;
    for (int axis = 0; axis < 3; ++axis) {
      otherwise += places[axis] != only.places[dot][axis] ? 1 : 0;
    }
    EXPECT_LE(otherwise, 1);
  }
}

}  // namespace
}  // namespace meshwright
