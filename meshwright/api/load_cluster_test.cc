#include "meshwright/api/load_cluster.h"

#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace meshwright {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST(LoadClusterTest, SpecsAndFiles) {
  const Cluster cpu = LoadCluster("cpu:4").value();
  EXPECT_TRUE(cpu.shared_host);
  EXPECT_EQ(cpu.device_count(), 4);
  EXPECT_GE(cpu.cores, 1);
  EXPECT_GT(cpu.device.memory_bytes, 0);
  const std::string path = testing::TempDir() + "/load_cluster_test.json";
  std::ofstream(path) << R"({"device": {"kind": "h100"},
                             "hosts": [{"devices": 8}]})";
  EXPECT_EQ(LoadCluster(path)->device_count(), 8);
  std::ofstream(path) << R"({"device": {"kind": "h100"}, "hosts": []})";
  EXPECT_THAT(std::string(LoadCluster(path).status().message()),
              StartsWith(path + ": there are no hosts"));
}

TEST(LoadClusterTest, WhatIsNeither) {
  EXPECT_THAT(std::string(LoadCluster("no.json").status().message()),
              HasSubstr("no.json"));
  EXPECT_THAT(std::string(LoadCluster("abacus:8").status().message()),
              HasSubstr("unknown device kind \"abacus\""));
}

}  // namespace
}  // namespace meshwright
