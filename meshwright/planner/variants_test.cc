#include "meshwright/planner/variants.h"

#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/base/side_by_side.h"
#include "meshwright/search/zoo_for_test.h"

namespace meshwright {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class VariantsTest : public testing::Test {
 protected:
  const Module module_ = ReadTiny("gpt");
  const StepContext context_{.style = FusionStyleFor(/*is_cpu=*/false)};
  Variants variants_{module_, context_};
};

TEST_F(VariantsTest, EachIsMadeOnceByManyThreads) {
  constexpr int kThreads = 8;
  std::vector<const StepVariant*> got(kThreads);
  SideBySide(kThreads, [&](int i) {
    got[i] = variants_.Get(i % 2 + 1, Recompute::kNone)->get();
  });
  EXPECT_EQ(std::set<const StepVariant*>(got.begin(), got.end()).size(), 2u);
  EXPECT_EQ(got[1]->count, 2);
  EXPECT_THAT(variants_.CountsMade(Recompute::kNone), ElementsAre(1, 2));
  EXPECT_THAT(variants_.CountsMade(Recompute::kFull), IsEmpty());
}

// The module of the variant without micro-batches is used again, or not.
TEST_F(VariantsTest, AreTheSameInAnyOrder) {
  const auto alone = variants_.Get(2, Recompute::kSelective);
  Variants others(module_, context_);
  const auto whole = others.Get(1, Recompute::kSelective);
  const auto after = others.Get(2, Recompute::kSelective);
  ASSERT_TRUE(alone.ok() && whole.ok() && after.ok());
  EXPECT_EQ((*alone)->recompute, Recompute::kSelective);
  EXPECT_EQ((*after)->recompute, Recompute::kSelective);
  EXPECT_EQ((*alone)->model.graph.ops.size(), (*after)->model.graph.ops.size());
  EXPECT_EQ((*alone)->flops, (*after)->flops);
}

TEST_F(VariantsTest, ImpossibleOnesDoNotCountAsMade) {
  EXPECT_FALSE(variants_.Get(7, Recompute::kNone).ok());
  EXPECT_FALSE(variants_.Get(7, Recompute::kNone).ok());
  EXPECT_THAT(variants_.CountsMade(Recompute::kNone), IsEmpty());
}

TEST_F(VariantsTest, CopiesShareWhatWasMadeBefore) {
  const auto one = variants_.Get(1, Recompute::kNone);
  Variants copy = variants_;
  EXPECT_EQ(copy.Get(1, Recompute::kNone)->get(), one->get());
  EXPECT_TRUE(copy.Get(2, Recompute::kNone).ok());
  EXPECT_THAT(copy.CountsMade(Recompute::kNone), ElementsAre(1, 2));
  EXPECT_THAT(variants_.CountsMade(Recompute::kNone), ElementsAre(1));
}

}  // namespace
}  // namespace meshwright
