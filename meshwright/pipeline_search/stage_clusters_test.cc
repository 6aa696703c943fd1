#include "meshwright/pipeline_search/stage_clusters.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace meshwright {
namespace {

using ::testing::ElementsAre;

// a (7) -> u (3) -> c (10), and a -> c.
StageGraph Chain(int64_t into_u, int64_t out_of_u) {
  StageGraph graph;
  graph.nodes = {{.work = 7, .name = "a"},
                 {.work = 3, .name = "u"},
                 {.work = 10, .name = "c"}};
  graph.values = {{.bytes = into_u, .producer = 0, .consumers = {1}},
                  {.bytes = out_of_u, .producer = 1, .consumers = {2}},
                  {.bytes = 1, .producer = 0, .consumers = {2}}};
  return graph;
}

TEST(StageClusters, LightNodesJoinTheirUsers) {
  const auto single = MergeGroups(Chain(5, 5));
  ASSERT_TRUE(single.ok());
  const StageClusters merged = MergeLight(*single, {.moved_work = 3});
  EXPECT_THAT(merged.cluster_of, ElementsAre(0, 1, 1));
  EXPECT_EQ(merged.graph.nodes[1].work, 13);
  EXPECT_THAT(merged.unmoved_work, ElementsAre(7, 10));
  EXPECT_EQ(merged.slack, 0);
}

TEST(StageClusters, LightNodesJoinTheirMakersWhereThatSaves) {
  const auto single = MergeGroups(Chain(9, 2));
  ASSERT_TRUE(single.ok());
  const StageClusters merged = MergeLight(*single, {.moved_work = 3});
  EXPECT_THAT(merged.cluster_of, ElementsAre(0, 0, 1));
  EXPECT_THAT(merged.unmoved_work, ElementsAre(7, 10));
}

TEST(StageClusters, AddedBytesAreSlack) {
  const auto single = MergeGroups(Chain(9, 2));
  ASSERT_TRUE(single.ok());
  const StageClusters merged =
      MergeLight(*single, {.moved_work = 3, .added_bytes = 7});
  EXPECT_THAT(merged.cluster_of, ElementsAre(0, 1, 1));
  EXPECT_EQ(merged.slack, 7);
}

TEST(StageClusters, GroupsTakeInWhatLiesBetween) {
  StageGraph graph = Chain(5, 5);
  graph.groups = {{0, 2}};
  const auto single = MergeGroups(graph);
  ASSERT_TRUE(single.ok());
  EXPECT_THAT(single->cluster_of, ElementsAre(0, 0, 0));
  EXPECT_TRUE(single->graph.values.empty());
  graph.nodes[0].fixed = StageId(0);
  graph.nodes[1].fixed = StageId(1);
  EXPECT_EQ(MergeGroups(graph).status().message(),
            "u is to be on stage 1, but a, with which it belongs together, on "
            "stage 0");
}

}  // namespace
}  // namespace meshwright
