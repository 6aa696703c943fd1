#include "meshwright/planner/setting.h"

#include <functional>
#include <vector>

#include "absl/hash/hash.h"
#include "gtest/gtest.h"

namespace meshwright {
namespace {

TEST(Setting, EveryFieldTellsSettingsApart) {
  const Setting setting{.mesh = *Mesh::Parse("data=4,model=2")};
  const std::vector<std::function<void(Setting&)>> changes = {
      [](Setting& one) { one.mesh = *Mesh::Parse("data=2,model=4"); },
      [](Setting& one) { one.mesh = *Mesh::Parse("data=4,x=2"); },
      [](Setting& one) { one.micro_batches = 2; },
      [](Setting& one) { one.recompute = Recompute::kFull; },
      [](Setting& one) { one.stages.count = 2; },
      [](Setting& one) { one.stages.ranks = 2; },
      [](Setting& one) { one.stages.doubled = 1; },
      [](Setting& one) { one.stages.is_doubled = true; },
      [](Setting& one) { one.schedule = ScheduleKind::k1F1B; },
      [](Setting& one) { one.joint_reductions = true; },
      [](Setting& one) { one.expert = Expert::kDp; },
  };
  const absl::Hash<Setting> hash;
  std::vector<Setting> all = {setting};
  for (const auto& change : changes) {
    all.push_back(setting);
    change(all.back());
  }
  for (size_t i = 0; i < all.size(); ++i) {
    for (size_t j = 0; j < all.size(); ++j) {
      EXPECT_EQ(all[i] == all[j], i == j) << i << " " << j;
      EXPECT_EQ(hash(all[i]) == hash(all[j]), i == j) << i << " " << j;
    }
  }
  EXPECT_EQ(all.back().With(Expert::kAuto), setting);
}

TEST(StageSetting, DoubledRanksTakeTwoParts) {
  const StageSetting even{.count = 4, .ranks = 4};
  EXPECT_EQ(even.parts(), 4);
  EXPECT_EQ(even.meshes(), 4);
  StageSetting uneven{.count = 4, .ranks = 4, .doubled = 1};
  EXPECT_EQ(uneven.meshes(), 5);
  uneven.is_doubled = true;
  EXPECT_EQ(uneven.parts(), 5);
  EXPECT_EQ(uneven.meshes(), 2.5);
}

}  // namespace
}  // namespace meshwright
