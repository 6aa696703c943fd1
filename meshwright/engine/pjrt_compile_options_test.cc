#include "meshwright/engine/pjrt_compile_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/compile_options.pb.h"

namespace meshwright {
namespace {

using ::testing::ElementsAre;

pb::CompileOptionsProto Parse(const CompileOptions& options,
                              const OptionMap& defaults = {}) {
  pb::CompileOptionsProto proto;
  EXPECT_TRUE(
      proto.ParseFromString(SerializeCompileOptions(options, defaults)));
  return proto;
}

TEST(CompileOptionsTest, OneDeviceByDefault) {
  const auto build = Parse({}).executable_build_options();
  EXPECT_EQ(build.num_replicas(), 1);
  EXPECT_EQ(build.num_partitions(), 1);
  EXPECT_FALSE(build.use_spmd_partitioning());
  EXPECT_FALSE(build.use_shardy_partitioner());
  EXPECT_FALSE(build.has_device_assignment());
}

TEST(CompileOptionsTest, DevicesAreListedByPartition) {
  const auto build = Parse({.num_replicas = 2,
                            .num_partitions = 3,
                            .device_ids = {10, 11, 12, 20, 21, 22},
                            .use_shardy = true})
                         .executable_build_options();
  EXPECT_TRUE(build.use_spmd_partitioning());
  EXPECT_TRUE(build.use_shardy_partitioner());
  const auto& assignment = build.device_assignment();
  EXPECT_EQ(assignment.replica_count(), 2);
  EXPECT_EQ(assignment.computation_count(), 3);
  ASSERT_EQ(assignment.computation_devices_size(), 3);
  EXPECT_THAT(assignment.computation_devices(0).replica_device_ids(),
              ElementsAre(10, 20));
  EXPECT_THAT(assignment.computation_devices(2).replica_device_ids(),
              ElementsAre(12, 22));
}

TEST(CompileOptionsTest, OverridesKeepTheirTypesAndBeatDefaults) {
  const auto proto =
      Parse({.xla_overrides = {{"a", true},
                               {"b", int64_t{7}},
                               {"c", 0.5},
                               {"d", std::string("mine")}}},
            {{"d", std::string("default")}, {"e", std::string("default")}});
  const auto& overrides = proto.env_option_overrides();
  EXPECT_TRUE(overrides.at("a").bool_field());
  EXPECT_EQ(overrides.at("b").int_field(), 7);
  EXPECT_EQ(overrides.at("c").double_field(), 0.5);
  EXPECT_EQ(overrides.at("d").string_field(), "mine");
  EXPECT_EQ(overrides.at("e").string_field(), "default");
}

TEST(CompileOptionsTest, PassesThatEitherDisablesDoNotRun) {
  const std::string name = "xla_disable_hlo_passes";
  const auto disabled = [&](const OptionMap& overrides) {
    return Parse({.xla_overrides = overrides}, {{name, std::string("a,b")}})
        .env_option_overrides()
        .at(name)
        .string_field();
  };
  EXPECT_EQ(disabled({}), "a,b");
  EXPECT_EQ(disabled({{name, std::string("c")}}), "a,b,c");
  EXPECT_EQ(disabled({{name, std::string()}}), "");
}

}  // namespace
}  // namespace meshwright
