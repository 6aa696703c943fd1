#include "meshwright/mesh/sub_cluster.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/mesh/cluster_file.h"

namespace meshwright {
namespace {

using testing::HasSubstr;

TEST(FirstDevicesTest, IsTheSmallerClusterOfTheSameKind) {
  const Cluster all = ParseClusterSpec("h200:64x8", {}).value();
  EXPECT_EQ(FirstDevices(all, 512).value(), all);
  EXPECT_EQ(FirstDevices(all, 16).value(),
            ParseClusterSpec("h200:2x8", {}).value());
  EXPECT_EQ(FirstDevices(all, 8).value(),
            ParseClusterSpec("h200:8", {}).value());
  EXPECT_EQ(FirstDevices(all, 4).value(),
            ParseClusterSpec("h200:4", {}).value());
  EXPECT_EQ(FirstDevices(all, 1)->device_count(), 1);
}

TEST(FirstDevicesTest, LevelsBecomeSmaller) {
  const Cluster all = ParseCluster(R"({"device": {"kind": "h200"}, "hosts":
      [{"devices": 8, "count": 16}], "links": {"pod": {"hosts": 4, "gbps": 400,
       "us": 5}, "cluster": {"gbps": 3200, "us": 9}}})")
                          .value();
  EXPECT_EQ(FirstDevices(all, 64)->levels.back(),
            (LinkLevel{"cluster", 64, 3200, 9, 32}));
  // Two hosts are part of a pod.
  EXPECT_EQ(FirstDevices(all, 16)->levels[1].devices, 16);
  EXPECT_THAT(FirstDevices(all, 48).status().message(),
              HasSubstr("48 devices are not whole blocks of link \"pod\", "
                        "which joins 32"));
  EXPECT_THAT(FirstDevices(all, 12).status().message(),
              HasSubstr("12 devices are not whole hosts of 8"));
  EXPECT_THAT(FirstDevices(all, 256).status().message(),
              HasSubstr("256 devices are no part of the cluster's 128"));
}

TEST(FirstDevicesTest, HostsThatDiffer) {
  const Cluster all = ParseCluster(R"({"device": {"kind": "h200"}, "hosts":
      [{"devices": 8, "count": 2},
       {"devices": 8, "count": 2, "device": {"kind": "a100-80"}}],
      "links": {"host": {"gbps": 3600, "us": 3},
                "cluster": {"gbps": 400, "us": 8, "per": "device"}}})")
                          .value();
  EXPECT_EQ(all.device.kind, "a100-80");
  EXPECT_EQ(FirstDevices(all, 16).value(),
            ParseClusterSpec("h200:2x8", {}).value());
  EXPECT_EQ(FirstDevices(all, 32).value(), all);
}

}  // namespace
}  // namespace meshwright
