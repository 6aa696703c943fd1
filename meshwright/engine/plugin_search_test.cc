#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "meshwright/engine/plugin.h"

namespace meshwright {

// Found by gmock when a matcher fails.
void PrintTo(const PluginFile& file, std::ostream* out) {
  *out << file.name << "=" << file.path;
}

namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class PluginSearchTest : public testing::Test {
 protected:
  void SetUp() override {
    // Tests of this suite may run at the same time, a process each.
    root_ = fs::path(testing::TempDir()) /
            ("plugin_search_test." + std::to_string(getpid()));
    fs::remove_all(root_);
  }
  void TearDown() override { fs::remove_all(root_); }
  std::string Touch(const std::string& path) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << "x";
    return root_ / path;
  }

  fs::path root_;
};

TEST_F(PluginSearchTest, FindsNothingInEmptyOrMissingFolders) {
  EXPECT_THAT(FindPlugins({}), IsEmpty());
  EXPECT_THAT(FindPlugins({.named = "",
                           .libraries = {root_ / "absent"},
                           .packages = {root_ / "absent"}}),
              IsEmpty());
}

TEST_F(PluginSearchTest, NamesPluginsAfterTheirFiles) {
  EXPECT_THAT(
      FindPlugins({.named = "/a/pjrt_c_api_cpu_plugin.so:mine=/b/x.so:"
                            "/c/xla_cuda12/xla_cuda_plugin.so:"
                            "/d/xla_cuda_plugin.so:/e/libtpu.so:/f/libodd.so"}),
      ElementsAre(
          PluginFile{"cpu", "/a/pjrt_c_api_cpu_plugin.so", true},
          PluginFile{"mine", "/b/x.so", true},
          PluginFile{"cuda12", "/c/xla_cuda12/xla_cuda_plugin.so", true},
          PluginFile{"cuda", "/d/xla_cuda_plugin.so", true},
          PluginFile{"tpu", "/e/libtpu.so", true},
          PluginFile{"odd", "/f/libodd.so", true}));
}

TEST_F(PluginSearchTest, FindsWheelsInPackageFolders) {
  const std::string cpu = Touch("p/xla_plugins/xla_cpu_pjrt/xla_cpu_pjrt.so");
  const std::string cuda12 =
      Touch("p/jax_plugins/xla_cuda12/xla_cuda_plugin.so");
  const std::string cuda13 =
      Touch("p/jax_plugins/xla_cuda13/xla_cuda_plugin.so");
  const std::string cuda9 = Touch("p/jax_plugins/xla_cuda9/xla_cuda_plugin.so");
  const std::string tpu = Touch("q/libtpu/libtpu.so");
  Touch("p/jax_plugins/xla_cuda11/readme");
  EXPECT_THAT(FindPlugins({.packages = {root_ / "p", root_ / "q"}}),
              ElementsAre(PluginFile{"cpu", cpu}, PluginFile{"cuda13", cuda13},
                          PluginFile{"cuda12", cuda12},
                          PluginFile{"cuda9", cuda9}, PluginFile{"tpu", tpu}));
}

TEST_F(PluginSearchTest, NamedBeatsLibraryBeatsPackage) {
  const std::string library = Touch("lib/xla_cpu_pjrt.so");
  Touch("p/xla_plugins/xla_cpu_pjrt/xla_cpu_pjrt.so");
  PluginSearch search{.libraries = {root_ / "lib"}, .packages = {root_ / "p"}};
  EXPECT_THAT(FindPlugins(search), ElementsAre(PluginFile{"cpu", library}));
  search.named = "/x/my_cpu.so";
  EXPECT_THAT(FindPlugins(search),
              ElementsAre(PluginFile{"cpu", "/x/my_cpu.so", true}));
}

TEST_F(PluginSearchTest, LooksWhereTheEnvironmentPoints) {
  const std::string before =
      std::getenv("VIRTUAL_ENV") ? std::getenv("VIRTUAL_ENV") : "";
  const std::string cpu = Touch(
      "venv/lib/python3.11/site-packages/xla_plugins/xla_cpu_pjrt/"
      "xla_cpu_pjrt.so");
  setenv("VIRTUAL_ENV", (root_ / "venv").c_str(), 1);
  PluginSearch search = PluginSearch::OfThisProcess();
  before.empty() ? unsetenv("VIRTUAL_ENV")
                 : setenv("VIRTUAL_ENV", before.c_str(), 1);
  search.named.clear();
  search.libraries.clear();
  ASSERT_FALSE(FindPlugins(search).empty());
  EXPECT_EQ(FindPlugins(search)[0], (PluginFile{"cpu", cpu}));
}

TEST_F(PluginSearchTest, NotFoundSaysWhatToSet) {
  const absl::Status status = FindPlugin("no_such_platform").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("MESHWRIGHT_PJRT_PLUGIN"));
}

}  // namespace
}  // namespace meshwright
