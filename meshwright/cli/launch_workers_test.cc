#include "meshwright/cli/launch_workers.h"

#include <string>

#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/mesh/cluster_file.h"

namespace meshwright {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Cluster Virtual(const std::string& spec) {
  return ParseClusterSpec(spec, {.cores = 2, .memory_bytes = 1 << 30}).value();
}

TEST(WorkerStartsTest, VirtualDevicesAreShared) {
  EXPECT_THAT(*WorkerStarts(Virtual("cpu:8"), {}),
              ElementsAre(WorkerStart{.rank = 0, .devices = 8}));
  EXPECT_THAT(*WorkerStarts(Virtual("cpu:8"), {.workers = 3}),
              ElementsAre(WorkerStart{.rank = 0, .devices = 3},
                          WorkerStart{.rank = 1, .devices = 3},
                          WorkerStart{.rank = 2, .devices = 2}));
  EXPECT_FALSE(WorkerStarts(Virtual("cpu:2"), {.workers = 3}).ok());
}

TEST(WorkerStartsTest, OneOnEachHost) {
  const Cluster cluster = ParseCluster(R"({
      "device": {"kind": "h200"},
      "hosts": [{"address": "127.0.0.1:7070", "devices": 8},
                {"address": "192.0.2.7:7070", "devices": 8}]})")
                              .value();
  EXPECT_THAT(*WorkerStarts(cluster, {}),
              ElementsAre(WorkerStart{.rank = 0},
                          WorkerStart{.rank = 1, .host = "192.0.2.7"}));
  EXPECT_THAT(WorkerStarts(cluster, {.workers = 2}).status().message(),
              HasSubstr("virtual devices"));
}

TEST(WorkerStartsTest, HostsWithoutAddresses) {
  EXPECT_THAT(*WorkerStarts(Virtual("h200:8"), {}),
              ElementsAre(WorkerStart{.rank = 0}));
  EXPECT_THAT(WorkerStarts(Virtual("h200:2x8"), {}).status().message(),
              HasSubstr("hosts[0] has no \"address\""));
  EXPECT_THAT(*WorkerStarts(Virtual("h200:2x8"), {.is_anywhere = true}),
              ElementsAre(WorkerStart{.rank = 0}, WorkerStart{.rank = 1}));
}

TEST(WorkerProcessTest, HereItIsThisProgram) {
  const auto child = WorkerProcess({.rank = 1, .devices = 2},
                                   {.join = ":7777", .platform = "cpu"});
  ASSERT_TRUE(child.ok()) << child.status();
  EXPECT_EQ(child->name, "worker 1");
  EXPECT_FALSE(child->hold_stdin);
  EXPECT_THAT(absl::StrJoin(child->argv, " "),
              HasSubstr(" worker --join 127.0.0.1:7777 --rank 1 --devices 2 "
                        "--platform cpu"));
}

TEST(WorkerProcessTest, ElsewhereItIsSsh) {
  const auto child = WorkerProcess({.rank = 3, .host = "gpu03"},
                                   {.join = "10.0.0.1:7777",
                                    .program = "/opt/meshwright",
                                    .ssh = {"ssh", "-p", "2222"},
                                    .further = {"--token-file", "my token"}});
  ASSERT_TRUE(child.ok()) << child.status();
  EXPECT_TRUE(child->hold_stdin);  // Its end is the order to end.
  EXPECT_EQ(child->argv[0], "ssh");
  EXPECT_EQ(child->argv[2], "2222");
  EXPECT_EQ(child->argv[child->argv.size() - 2], "gpu03");
  EXPECT_THAT(child->argv.back(),
              HasSubstr("/opt/meshwright worker --join 10.0.0.1:7777 --rank 3 "
                        "--token-file "));
}

TEST(RayProcessTest, TakesAnAddressThatItsHostsReach) {
  const Cluster cluster = Virtual("h200:2x8");
  const auto starts = WorkerStarts(cluster, {.is_anywhere = true}).value();
  const auto child = RayProcess(
      "auto", starts, cluster,
      {.join = "10.0.0.1:7777", .program = "meshwright", .further = {}});
  ASSERT_TRUE(child.ok()) << child.status();
  EXPECT_THAT(absl::StrJoin(child->argv, " "),
              HasSubstr("-m meshwright.launch_ray --address auto --workers 2 "
                        "--gpus 8 -- meshwright worker --join 10.0.0.1:7777"));
  EXPECT_THAT(
      RayProcess("auto", starts, cluster, {.join = ":7777"}).status().message(),
      HasSubstr("--listen"));
}

}  // namespace
}  // namespace meshwright
