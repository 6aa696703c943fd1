#include "meshwright/engine/open_plugin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace meshwright {
namespace {

using testing::ElementsAre;

TEST(FastestFirstTest, PrefersAcceleratorsAndMostOfAllWhatTheUserNames) {
  const PluginFile cpu{"cpu", "/a.so"};
  const PluginFile cuda{"cuda13", "/b.so"};
  const PluginFile tpu{"tpu", "/c.so"};
  EXPECT_THAT(FastestFirst({cpu, cuda, tpu}), ElementsAre(cuda, tpu, cpu));
  const PluginFile named{"cpu", "/mine.so", /*is_named=*/true};
  EXPECT_THAT(FastestFirst({named, cuda, tpu}), ElementsAre(named, cuda, tpu));
}

TEST(OpenPluginTest, OpensTheDevicesOfThePlatform) {
  const auto opened = OpenPlugin("cpu", {.cpu_devices = 3});
  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_EQ(opened->plugin->file().name, "cpu");
  EXPECT_EQ(opened->client->devices().size(), 3);
  EXPECT_EQ(OpenPlugin("abacus", {}).status().code(),
            absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace meshwright
