#include "meshwright/mesh/cluster_file.h"

#include <random>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/mesh/link_words.h"

namespace meshwright {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr int64_t kGib = int64_t{1} << 30;

std::string Error(const absl::StatusOr<Cluster>& cluster) {
  if (cluster.ok()) return "";
  EXPECT_EQ(cluster.status().code(), absl::StatusCode::kInvalidArgument);
  const std::string message(cluster.status().message());
  EXPECT_THAT(message, Not(HasSubstr("\n")));
  return message;
}

// A file of four hosts of 8 h200 with these links.
absl::StatusOr<Cluster> WithLinks(const std::string& links) {
  return ParseCluster(R"({"device": {"kind": "h200"}, "hosts":
      [{"devices": 8, "count": 4}], "links": )" +
                      links + "}");
}

TEST(ClusterFileTest, TheFormOfTheDesign) {
  const Cluster cluster = ParseCluster(R"(
    {"device": {"kind": "h200", "memory_gib": 140},
     "hosts": [{"address": "10.0.0.1:7070", "devices": 8},
               {"address": "10.0.0.2:7070", "devices": 8}],
     "links": {"host": {"gbps": 3600, "us": 3},
               "cluster": {"gbps": 400, "us": 8}}})")
                              .value();
  EXPECT_EQ(cluster.device_count(), 16);
  EXPECT_EQ(cluster.devices_per_host(), 8);
  EXPECT_EQ(cluster.hosts[1].address, "10.0.0.2:7070");
  EXPECT_EQ(cluster.device.kind, "h200");
  EXPECT_EQ(cluster.device.memory_bytes, 140 * kGib);
  EXPECT_EQ(cluster.device.tflops, FindDeviceKind("h200")->tflops);
  EXPECT_THAT(cluster.levels, ElementsAre(LinkLevel{"host", 8, 3600, 3, 1},
                                          LinkLevel{"cluster", 16, 400, 8, 8}));
  EXPECT_FALSE(cluster.shared_host);
  EXPECT_THAT(cluster.warnings, IsEmpty());
  EXPECT_EQ(cluster.ToString(),
            "2 hosts x 8 h200, 140 GiB; host: 3600 Gbit/s per device, 3 us; "
            "cluster: 400 Gbit/s per host, shared by its 8 devices, 8 us");
  EXPECT_EQ(cluster.levels[0].BytesPerSecond(), 450e9);
  EXPECT_DOUBLE_EQ(cluster.levels[1].LatencySeconds(), 8e-6);
}

// docs/formats.md has this file and says that it is h200:2x8.
TEST(ClusterFileTest, TheDocumentedFileIsTheShortForm) {
  Cluster file = ParseCluster(R"({"device": {"kind": "h200", "memory_gib": 141},
     "hosts": [{"devices": 8}, {"devices": 8}],
     "links": {"host": {"gbps": 3600, "us": 3},
               "cluster": {"gbps": 400, "us": 8, "per": "device"}}})")
                     .value();
  const Cluster spec = ParseClusterSpec("h200:2x8", {}).value();
  EXPECT_EQ(file, spec);
  EXPECT_EQ(spec.ToString(),
            "2 hosts x 8 h200, 141 GiB; host: 3600 Gbit/s per device, 3 us; "
            "cluster: 400 Gbit/s per device, 8 us");
  EXPECT_THAT(UnusualLinks(spec), IsEmpty());
}

TEST(ClusterFileTest, LinksFarFromTheUsualAreNamed) {
  const Cluster shared =
      WithLinks(R"({"cluster": {"gbps": 400, "us": 8}})").value();
  EXPECT_THAT(
      UnusualLinks(shared),
      ElementsAre(
          "link \"cluster\": 400 Gbit/s per host, shared by its 8 devices, "
          "that is 50 for each h200; usual are 400 (if 400 is what one device "
          "has, write \"per\": \"device\")"));
  const Cluster slow = WithLinks(R"({"host": {"gbps": 100}})").value();
  EXPECT_THAT(UnusualLinks(slow),
              ElementsAre("link \"host\": 100 Gbit/s per device, that is 100 "
                          "for each h200; usual are 3600"));
  const Cluster near =
      WithLinks(R"({"cluster": {"gbps": 200, "us": 8, "per": "device"}})")
          .value();
  EXPECT_THAT(UnusualLinks(near), IsEmpty());
  EXPECT_THAT(UnusualLinks(ParseClusterSpec("v100:2x8", {}).value()),
              IsEmpty());
}

TEST(ClusterFileTest, OneHostHasNoLinksToOthers) {
  EXPECT_EQ(ParseClusterSpec("h200:8", {}).value().ToString(),
            "1 host x 8 h200, 141 GiB; host: 3600 Gbit/s per device, 3 us");
}

TEST(ClusterFileTest, KindsFillInAndFilesOverride) {
  Cluster cluster = ParseCluster(R"({"device": {"kind": "a100-40"},
      "hosts": [{"devices": 4, "count": 2}]})")
                        .value();
  EXPECT_EQ(cluster.device.memory_bytes, 40 * kGib);
  EXPECT_EQ(cluster.device.memory_gbps, 1555);
  // A port beside every device.
  EXPECT_THAT(cluster.levels, ElementsAre(LinkLevel{"host", 4, 2400, 4, 1},
                                          LinkLevel{"cluster", 8, 200, 8, 1}));
  cluster = ParseCluster(R"({"device": {"kind": "v100", "memory_gbps": 800.5,
      "tflops": {"f16": 100}}, "hosts": [{"devices": 2}],
      "links": {"cluster": {"us": 99}}})")
                .value();
  EXPECT_EQ(cluster.device.memory_gbps, 800.5);
  EXPECT_EQ(cluster.device.tflops.f16, 100);
  EXPECT_EQ(cluster.device.tflops.f32, 15.7);
  EXPECT_EQ(cluster.levels[1], (LinkLevel{"cluster", 2, 400, 99, 2}));
}

TEST(ClusterFileTest, MoreLevels) {
  const Cluster cluster =
      WithLinks(R"({"cluster": {"gbps": 100, "us": 9, "per": "host"},
                    "pod": {"hosts": 2, "gbps": 200, "us": 5, "per": "device"},
                    "pair": {"devices": 2, "gbps": 7200, "us": 1}})")
          .value();
  EXPECT_THAT(cluster.levels, ElementsAre(LinkLevel{"pair", 2, 7200, 1, 1},
                                          LinkLevel{"host", 8, 3600, 3, 1},
                                          LinkLevel{"pod", 16, 200, 5, 1},
                                          LinkLevel{"cluster", 32, 100, 9, 8}));
  // Above the cluster, which then has a size.
  EXPECT_THAT(WithLinks(R"({"cluster": {"hosts": 2},
                            "region": {"gbps": 10, "us": 900}})")
                  ->levels,
              ElementsAre(LinkLevel{"host", 8, 3600, 3, 1},
                          LinkLevel{"cluster", 16, 400, 8, 1},
                          LinkLevel{"region", 32, 10, 900, 16}));
  // Larger than the cluster.
  EXPECT_EQ(WithLinks(R"({"pod": {"hosts": 64, "gbps": 1, "us": 1}})")
                ->levels[1]
                .devices,
            32);
}

TEST(ClusterFileTest, HostsThatDiffer) {
  const Cluster cluster = ParseCluster(R"({"device": {"kind": "h200"}, "hosts":
      [{"devices": 8, "count": 2},
       {"devices": 8, "device": {"kind": "a100-80"}},
       {"devices": 8, "device": {"kind": "h200", "speed": 0.5},
        "link_speed": 0.25}]})")
                              .value();
  ASSERT_EQ(cluster.models.size(), 3u);
  EXPECT_TRUE(cluster.IsUneven());
  EXPECT_EQ(cluster.hosts[0].model, 0);
  EXPECT_EQ(cluster.hosts[2].model, 1);
  EXPECT_EQ(cluster.ModelOf(cluster.hosts[3]).tflops.bf16, 989 / 2.0);
  // Of everything the least.
  EXPECT_EQ(cluster.device.kind, "a100-80");
  EXPECT_EQ(cluster.device.memory_bytes, 80 * kGib);
  EXPECT_EQ(cluster.device.tflops.bf16, 312);
  EXPECT_EQ(cluster.device.memory_gbps, FindDeviceKind("a100-80")->memory_gbps);
  // The links of the slower kind.
  EXPECT_EQ(cluster.levels[0].gbps, 2400);
  EXPECT_EQ(LinkSpeedOf(cluster.hosts), 0.25);
  EXPECT_EQ(LinkSpeedOf(HostsOf(cluster, 8, 9)), 1);
  EXPECT_EQ(HostsOf(cluster, 8, 9).size(), 2u);
  EXPECT_THAT(
      cluster.ToString(),
      HasSubstr("4 hosts x 8 devices, 2 of h200 (141 GiB, 989 TFLOP/s), "
                "1 of a100-80 (80.0 GiB, 312 TFLOP/s), "
                "1 of h200 (141 GiB, 494.5 TFLOP/s)"));
  EXPECT_EQ(ParseCluster(ToJson(cluster)).value(), cluster);
  // All alike, though every host says so itself.
  const Cluster even = ParseCluster(R"({"hosts":
      [{"devices": 8, "device": {"kind": "h200"}},
       {"devices": 8, "device": "h200"}]})")
                           .value();
  EXPECT_EQ(even, ParseClusterSpec("h200:2x8", {}).value());
  EXPECT_FALSE(even.IsUneven());
}

TEST(ClusterFileTest, MistakesInHostsThatDifferAreNamed) {
  const auto with_host = [](const std::string& host) {
    return Error(ParseCluster(R"({"device": {"kind": "h200"},
        "hosts": [{"devices": 8}, )" +
                              host + "]}"));
  };
  EXPECT_THAT(with_host(R"({"devices": 8, "device": {"kind": "abacus"}})"),
              HasSubstr("hosts[1]: device: unknown device kind \"abacus\"; "
                        "known are v100, "));
  EXPECT_THAT(with_host(R"({"devices": 8, "device": "abacus"})"),
              HasSubstr("hosts[1]: device: unknown device kind \"abacus\""));
  EXPECT_THAT(with_host(R"({"devices": 8, "link_speed": 1e-300})"),
              HasSubstr("hosts[1]: link_speed must be 1e-06 to 1e+06"));
  EXPECT_THAT(with_host(R"({"devices": 8, "device": {"kind": "cpu"}})"),
              HasSubstr("hosts of h200 and of cpu cannot be one cluster"));
  EXPECT_THAT(
      with_host(R"({"devices": 8, "device": {"kind": "h200", "speed": 0}})"),
      HasSubstr("hosts[1]: device: \"speed\" must be 1e-06 to 1e+06, not 0"));
  EXPECT_THAT(with_host(R"({"devices": 8, "link_speed": -1})"),
              HasSubstr("hosts[1]: link_speed must be 1e-06 to 1e+06"));
  EXPECT_THAT(with_host(R"({"devices": 0})"),
              HasSubstr("hosts[1] has 0 devices; there are 1 to 2^20"));
}

TEST(ClusterFileTest, OversubscribedLevels) {
  const Cluster cluster =
      WithLinks(R"({"rail": {"hosts": 2, "gbps": 400, "us": 5, "per": "device"},
                    "cluster": {"gbps": 400, "us": 9, "per": "device",
                                "oversubscription": 4}})")
          .value();
  EXPECT_THAT(cluster.levels,
              ElementsAre(LinkLevel{"host", 8, 3600, 3, 1},
                          LinkLevel{"rail", 16, 400, 5, 1},
                          LinkLevel{"cluster", 32, 400, 9, 1, 4}));
  EXPECT_EQ(cluster.levels[2].BytesPerSecond(), 12.5e9);
  EXPECT_THAT(cluster.ToString(),
              HasSubstr("cluster: 400 Gbit/s per device, 4 : 1 oversubscribed, "
                        "9 us"));
  EXPECT_EQ(ParseCluster(ToJson(cluster)).value(), cluster);
  EXPECT_THAT(Error(WithLinks(R"({"cluster": {"oversubscription": 0.5}})")),
              HasSubstr("oversubscription must be 1 to 1e+06"));
}

TEST(ClusterFileTest, LocalIdsAndTepdist) {
  EXPECT_THAT(ParseCluster(R"({"device": {"kind": "h100"},
                  "hosts": [{"devices": [2, 3]}]})")
                  ->hosts[0]
                  .local_ids,
              ElementsAre(2, 3));
  const Cluster cluster = ParseCluster(R"(
    {"master": {"ip": "10.0.0.1", "port": "2222", "gpu_ids": "0,1,2"},
     "workers": [{"ip": "10.0.0.2", "port": 2223, "gpu_ids": "4, 5,6"}],
     "slaves": [{"ip": "10.0.0.3", "gpu_ids": [1, 2, 3]}]})")
                              .value();
  EXPECT_THAT(cluster.hosts, ElementsAre(Host{"10.0.0.1:2222", 3, {0, 1, 2}},
                                         Host{"10.0.0.2:2223", 3, {4, 5, 6}},
                                         Host{"10.0.0.3:1688", 3, {1, 2, 3}}));
  EXPECT_EQ(cluster.device.kind, "v100");
  EXPECT_THAT(cluster.warnings, ElementsAre(HasSubstr("taken to be v100")));
  const Cluster named = ParseCluster(R"({"device": {"kind": "b200"},
      "master": {"ip": "h", "port": 1, "gpu_ids": "0"}})")
                            .value();
  EXPECT_EQ(named.device.kind, "b200");
  EXPECT_THAT(named.warnings, IsEmpty());
}

TEST(ClusterFileTest, Specs) {
  const Machine machine = {2, 16 * kGib};
  const Cluster cpu = ParseClusterSpec("cpu:8", machine).value();
  EXPECT_TRUE(cpu.shared_host);
  EXPECT_EQ(cpu.cores, 2);
  EXPECT_EQ(cpu.device_count(), 8);
  EXPECT_EQ(cpu.device.memory_bytes, 2 * kGib);
  // Two cores over eight devices.
  const DeviceKind& core = *FindDeviceKind("cpu");
  EXPECT_DOUBLE_EQ(cpu.device.tflops.f32, core.tflops.f32 / 4);
  EXPECT_DOUBLE_EQ(cpu.device.memory_gbps, core.memory_gbps / 4);
  const Cluster h200 = ParseClusterSpec("h200:4x8", machine).value();
  EXPECT_FALSE(h200.shared_host);
  EXPECT_EQ(h200.device_count(), 32);
  EXPECT_EQ(h200.hosts.size(), 4);
  EXPECT_EQ(h200.levels[1], (LinkLevel{"cluster", 32, 400, 8, 1}));
  for (const char* text : {"cpu:8", "h200:4x8", "abacus:2", "a100-80:0"}) {
    EXPECT_TRUE(IsClusterSpec(text)) << text;
  }
  for (const char* text : {"cpu", "cpu:", "cluster.json", "c:/x.json", ":8",
                           "cpu:8x", "cpu:1x2x3", "cpu:8:8", ""}) {
    EXPECT_FALSE(IsClusterSpec(text)) << text;
  }
}

TEST(ClusterFileTest, WhatIsWrittenIsReadBack) {
  const Machine machine = {3, 12345678901};
  std::vector<Cluster> clusters;
  for (const std::string& kind : KnownDeviceKinds()) {
    clusters.push_back(ParseClusterSpec(kind + ":6", machine).value());
  }
  clusters.push_back(ParseClusterSpec("a100:16x1", machine).value());
  for (const char* links : {R"({"pod": {"hosts": 2, "gbps": 200, "us": 5},
            "pair": {"devices": 2, "gbps": 7200, "us": 1},
            "cluster": {"gbps": 1.25, "us": 0, "per": "pair"}})",
                            R"({"pod": {"hosts": 64, "gbps": 2, "us": 5}})",
                            R"({"wan": {"gbps": 2, "us": 5, "per": "host"},
            "cluster": {"hosts": 1}})"}) {
    clusters.push_back(WithLinks(links).value());
  }
  clusters.push_back(ParseCluster(R"({"device": {"kind": "h100"},
      "hosts": [{"address": "a:1", "devices": [1]},
                {"address": "b:1", "devices": [0]}]})")
                         .value());
  for (const Cluster& cluster : clusters) {
    EXPECT_EQ(ParseCluster(ToJson(cluster)).value(), cluster)
        << ToJson(cluster);
  }
}

TEST(ClusterFileTest, MistakesInHostsAreNamed) {
  const auto with_hosts = [](const std::string& hosts) {
    return Error(ParseCluster(R"({"device": {"kind": "h200"}, "hosts": )" +
                              hosts + "}"));
  };
  EXPECT_THAT(with_hosts("[]"), HasSubstr("no hosts"));
  EXPECT_THAT(with_hosts("8"), HasSubstr("\"hosts\" must be a list"));
  EXPECT_THAT(with_hosts("[8]"), HasSubstr("hosts[0] must be an object"));
  EXPECT_THAT(with_hosts("[{}]"), HasSubstr("hosts[0]: no \"devices\""));
  EXPECT_THAT(with_hosts(R"([{"devices": 0}])"), HasSubstr("0 devices"));
  EXPECT_THAT(with_hosts(R"([{"devices": []}])"), HasSubstr("0 devices"));
  EXPECT_THAT(with_hosts(R"([{"devices": "x"}])"), HasSubstr("an integer"));
  EXPECT_THAT(with_hosts(R"([{"devices": [0, 0]}])"),
              HasSubstr("device 0 twice"));
  EXPECT_THAT(with_hosts(R"([{"devices": 8}, {"gpus": 8}])"),
              HasSubstr("hosts[1]: unknown key \"gpus\""));
  EXPECT_THAT(
      with_hosts(R"([{"devices": 8}, {"address": "b:1", "devices": 4}])"),
      HasSubstr("hosts[1] (b:1) has 4 devices, hosts[0] has 8; all hosts"));
  EXPECT_THAT(with_hosts(R"([{"address": "b:1", "devices": 4},
                             {"address": "b:1", "devices": 4}])"),
              HasSubstr("same address b:1"));
  EXPECT_THAT(with_hosts(R"([{"devices": 4, "count": 0}])"),
              HasSubstr("\"count\" must be"));
  EXPECT_THAT(with_hosts(R"([{"devices": 4096, "count": 4096}])"),
              HasSubstr("more than 2^20 devices"));
  EXPECT_THAT(with_hosts(R"([{"address": "b:1", "devices": 4, "count": 2}])"),
              HasSubstr("cannot share the address b:1"));
}

TEST(ClusterFileTest, MistakesInLinksAreNamed) {
  EXPECT_THAT(Error(WithLinks("[]")), HasSubstr("\"links\" must be"));
  EXPECT_THAT(Error(WithLinks(R"({"host": {"gbps": 0}})")),
              HasSubstr("link \"host\": gbps must be above 0"));
  EXPECT_THAT(Error(WithLinks(R"({"host": {"us": -1}})")),
              HasSubstr("link \"host\": us must be 0 or more"));
  EXPECT_THAT(Error(WithLinks(R"({"host": {"gbps": "fast"}})")),
              HasSubstr("\"gbps\" must be a number, not \"fast\""));
  EXPECT_THAT(Error(WithLinks(R"({"host": {"mbps": 1}})")),
              HasSubstr("link \"host\": unknown key \"mbps\""));
  EXPECT_THAT(Error(WithLinks(R"({"host": {"devices": 4}})")),
              HasSubstr("its size is that of \"hosts\""));
  EXPECT_THAT(Error(WithLinks(R"({"pod": {"gbps": 1, "us": 1}})")),
              HasSubstr("\"cluster\" and \"pod\" both have no size"));
  EXPECT_THAT(Error(WithLinks(R"({"pod": {"hosts": 2, "us": 1}})")),
              HasSubstr("link \"pod\": no \"gbps\""));
  EXPECT_THAT(Error(WithLinks(R"({"pod": {"hosts": 3, "gbps": 1, "us": 1}})")),
              HasSubstr("\"cluster\" joins 32 devices, no multiple of the 24 "
                        "that \"pod\" joins"));
  EXPECT_THAT(
      Error(WithLinks(R"({"pair": {"devices": 3, "gbps": 1, "us": 1}})")),
      HasSubstr("no multiple of the 3"));
  EXPECT_THAT(Error(WithLinks(R"({"cluster": {"hosts": 2}})")),
              HasSubstr("outermost link, \"cluster\", joins 16 of 32"));
  EXPECT_THAT(Error(WithLinks(R"({"cluster": {"gbps": 1, "per": "rack"}})")),
              HasSubstr("not \"rack\""));
  EXPECT_THAT(Error(WithLinks(R"({"pod": {"hosts": 2, "devices": 2,
                                          "gbps": 1, "us": 1}})")),
              HasSubstr("not both"));
  EXPECT_THAT(Error(WithLinks(R"({"pod": {"hosts": 0, "gbps": 1, "us": 1}})")),
              HasSubstr("link \"pod\": \"hosts\" must be at least 1, not 0"));
  EXPECT_THAT(Error(WithLinks(R"({"pod": {"hosts": 2, "gbps": 8, "us": 1},
                                  "rail": {"hosts": 2, "gbps": 4, "us": 1}})")),
              HasSubstr("links \"pod\" and \"rail\" both join 16 devices"));
  // Not if both are larger than the cluster.
  EXPECT_THAT(Error(WithLinks(R"({"pod": {"hosts": 8, "gbps": 8, "us": 1},
                                  "rail": {"hosts": 8, "gbps": 4, "us": 1}})")),
              "");
  EXPECT_THAT(Error(WithLinks(R"({"pod": {"hosts": 2, "gbps": 8, "us": 1},
                                  "pod": {"hosts": 4, "gbps": 4, "us": 1}})")),
              HasSubstr("\"pod\" is given twice in one object"));
}

TEST(ClusterFileTest, OtherMistakesAreNamed) {
  EXPECT_THAT(Error(ParseCluster("{")), HasSubstr("not valid JSON"));
  EXPECT_THAT(Error(ParseCluster("[]")), HasSubstr("must be an object"));
  EXPECT_THAT(Error(ParseCluster("{}")), HasSubstr("needs \"hosts\""));
  EXPECT_THAT(Error(ParseCluster(R"({"hosts": [], "nodes": 1})")),
              HasSubstr("unknown key \"nodes\""));
  EXPECT_THAT(Error(ParseCluster(R"({"hosts": [{"devices": 1}]})")),
              HasSubstr("no \"device\"; add"));
  EXPECT_THAT(Error(ParseCluster(R"({"device": "h200", "device": "a100",
                  "hosts": [{"devices": 1}]})")),
              HasSubstr("\"device\" is given twice in one object"));
  EXPECT_THAT(Error(ParseCluster(R"({"device": "h200", "hosts":
                  [{"devices": 1, "devices": 2}]})")),
              HasSubstr("\"devices\" is given twice in one object"));
  const auto with_device = [](const std::string& device) {
    return Error(ParseCluster("{\"device\": " + device +
                              R"(, "hosts": [{"devices": 1}]})"));
  };
  EXPECT_THAT(with_device(R"({"kind": "abacus"})"),
              HasSubstr("unknown device kind \"abacus\"; known are v100, "));
  EXPECT_THAT(with_device("{}"), HasSubstr("no \"kind\"; known are"));
  EXPECT_THAT(with_device(R"({"kind": 7})"), HasSubstr("a string, not 7"));
  EXPECT_THAT(with_device(R"({"kind": "h100", "memory_gib": -1})"),
              HasSubstr("memory_gib"));
  EXPECT_THAT(with_device(R"({"kind": "h100", "memory_gb": 1})"),
              HasSubstr("unknown key \"memory_gb\""));
  EXPECT_THAT(with_device(R"({"kind": "h100", "tflops": {"fp16": 1}})"),
              HasSubstr("device: tflops: unknown key \"fp16\""));
  EXPECT_THAT(with_device(R"({"kind": "h100", "tflops": {"f16": 0}})"),
              HasSubstr("tflops of f16 must be above 0"));
  EXPECT_THAT(Error(ParseCluster(R"({"master": {"port": 1}})")),
              HasSubstr("master: no \"ip\""));
  EXPECT_THAT(
      Error(ParseCluster(R"({"master": {"ip": "a", "gpu_ids": "0,x"}})")),
      HasSubstr("master: \"gpu_ids\" must be numbers"));
  EXPECT_THAT(Error(ParseCluster(R"({"master": {"ip": "a", "gpu_ids": "0"},
                  "workers": [{"ip": "b", "gpu_ids": "0,1"}]})")),
              HasSubstr("hosts[1] (b:1688) has 2 devices"));
  EXPECT_THAT(Error(ParseCluster(R"({"device": {"kind": "cpu"}, "hosts":
                  [{"devices": 1}], "shared_host": true})")),
              HasSubstr("cores must be above 0"));
  const Machine machine = {2, kGib};
  EXPECT_THAT(Error(ParseClusterSpec("abacus:2", machine)),
              HasSubstr("\"abacus\"; known are"));
  EXPECT_THAT(Error(ParseClusterSpec("cpu", machine)),
              HasSubstr("'cpu' is no cluster"));
  EXPECT_THAT(Error(ParseClusterSpec("cpu:0", machine)),
              HasSubstr("'cpu:0' has 0 devices"));
  EXPECT_THAT(Error(ParseClusterSpec("cpu:2x4", machine)),
              HasSubstr("write cpu:4"));
  EXPECT_THAT(Error(ParseClusterSpec("h100:0x4", machine)),
              HasSubstr("0 hosts"));
}

// Whatever the text, either a cluster that is written and read back, or one
// line.
TEST(ClusterFileTest, MutatedFiles) {
  const std::string files[] = {
      R"({"device": {"kind": "h200", "memory_gib": 141, "tflops": {"f8": 2}},
          "hosts": [{"address": "a:1", "devices": 2}, {"devices": [0, 1]}],
          "links": {"host": {"gbps": 3600, "us": 3}, "pod": {"hosts": 2,
          "gbps": 8, "us": 1, "per": "host"}, "cluster": {"gbps": 4}}})",
      R"({"hosts": [{"devices": 8, "count": 1}], "device": {"kind": "cpu"},
          "shared_host": true, "cores": 2})",
      R"({"master": {"ip": "a", "port": 1, "gpu_ids": "0,1"},
          "workers": [{"ip": "b", "port": "1", "gpu_ids": [0, 1]}]})"};
  constexpr absl::string_view kBytes = "0123456789-.e{}[]:,\"xtn \xff";
  std::mt19937 random(11);
  int64_t read = 0;
  for (int trial = 0; trial < 20000; ++trial) {
    std::string text = files[random() % 3];
    for (uint64_t edits = random() % 3 + 1; edits > 0; --edits) {
      const size_t at = random() % text.size();
      switch (random() % 3) {
        case 0:
          text[at] = kBytes[random() % kBytes.size()];
          break;
        case 1:
          text.erase(at, random() % 4 + 1);
          break;
        default:
          text.insert(at, 1, kBytes[random() % kBytes.size()]);
      }
    }
    const absl::StatusOr<Cluster> cluster = ParseCluster(text);
    if (!cluster.ok()) {
      EXPECT_NE(Error(cluster), "") << text;
      continue;
    }
    ++read;
    Cluster again = ParseCluster(ToJson(*cluster)).value();
    again.warnings = cluster->warnings;
    // Text that is no UTF-8 is replaced in writing.
    if (text.find('\xff') == std::string::npos) {
      EXPECT_EQ(again, *cluster) << text;
    }
  }
  EXPECT_GT(read, 500);
}

}  // namespace
}  // namespace meshwright
