#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "meshwright/engine/cpu_plugin_for_test.h"
#include "meshwright/engine/plugin.h"
#include "meshwright/engine/xnn_fusions.h"

namespace {

std::atomic<int> environment_changes = 0;

}  // namespace

// In the place of the library's, for all of this program.
extern "C" int setenv(const char* name, const char* value, int overwrite) {
  ++environment_changes;
  using Setenv = int (*)(const char*, const char*, int);
  static const auto real = reinterpret_cast<Setenv>(dlsym(RTLD_NEXT, "setenv"));
  return real(name, value, overwrite);
}

namespace meshwright {
namespace {

using ::testing::HasSubstr;

std::string LoadError(const std::string& path) {
  const absl::Status status = Plugin::Load({"mine", path}).status();
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), HasSubstr(path));
  return status.ToString();
}

TEST(PluginTest, FilesThatAreNoPluginsSaySo) {
  EXPECT_THAT(LoadError("/no/such/plugin.so"),
              HasSubstr("NOT_FOUND: plug-in mine"));
  const std::string text =
      std::filesystem::path(testing::TempDir()) / "not_a_library.so";
  std::ofstream(text) << "not a library";
  EXPECT_THAT(LoadError(text), HasSubstr("cannot be loaded"));
  EXPECT_THAT(LoadError("/lib/x86_64-linux-gnu/libm.so.6"),
              HasSubstr("without GetPjrtApi"));
}

TEST(PluginTest, LoadsOnce) {
  const Plugin& plugin = CpuPlugin();
  EXPECT_EQ(&CpuPlugin(), &plugin);
  EXPECT_EQ(plugin.file().name, "cpu");
  EXPECT_THAT(plugin.api_version(), HasSubstr("0."));
}

TEST(PluginTest, LeavesXlaFlagsAsTheyWere) {
  const std::string before =
      std::getenv("XLA_FLAGS") ? std::getenv("XLA_FLAGS") : "";
  ASSERT_TRUE(CpuPlugin().CreateClient({}).ok());
  const std::string after =
      std::getenv("XLA_FLAGS") ? std::getenv("XLA_FLAGS") : "";
  EXPECT_EQ(after, before);
}

TEST(PluginTest, OnlyTheFirstClientChangesTheEnvironment) {
  ASSERT_TRUE(CpuPlugin().CreateClient({}).ok());
  const int before = environment_changes;
  ASSERT_TRUE(CpuPlugin().CreateClient({}).ok());
  EXPECT_EQ(environment_changes, before);
  setenv("MESHWRIGHT_TEST_CHANGE", "1", /*overwrite=*/1);
  EXPECT_GT(environment_changes, before);  // They are counted.
}

TEST(PluginTest, DeviceCountsThatMakeNoSenseAreInvalid) {
  for (const ClientOptions& options : std::vector<ClientOptions>{
           {.cpu_devices = 0},
           {.cpu_devices = -1},
           {.values = {{"cpu_device_count", int64_t{2}}}},
           {.values = {{"cpu_device_count", true}}}}) {
    EXPECT_EQ(CpuPlugin().CreateClient(options).status().code(),
              absl::StatusCode::kInvalidArgument);
  }
}

TEST(PluginTest, TheCpuIsOfNoTeam) {
  const absl::Status status =
      CpuPlugin().CreateClient({.team = ProcessTeam{.processes = 2}}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("has no collectives between processes"));
}

TEST(PluginTest, ProgramsWithOtherLayoutsAreRefused) {
  const auto client = *CpuPlugin().CreateClient({});
  const absl::Status status = client
                                  ->Compile({"mlir", R"(module @columns {
func.func @main(%a: tensor<2x3xf32>)
    -> (tensor<2x3xf32> {mhlo.layout_mode = "{0,1}"}) {
  return %a : tensor<2x3xf32>
}})"},
                                            {})
                                  .status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("program columns: output 0 of the program has layout "
                        "{0,1}"));
}

TEST(PluginTest, OverridesReachTheCompiler) {
  const auto client = *CpuPlugin().CreateClient({});
  const Program program{"mlir", R"(module @same {
func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {
  return %a : tensor<2xf32>
}})"};
  CompileOptions options{
      .xla_overrides = {{"xla_backend_optimization_level", int64_t{0}},
                        {"xla_cpu_enable_fast_math", false}}};
  EXPECT_TRUE(client->Compile(program, options).ok());
  options.xla_overrides["xla_no_such_option"] = true;
  const absl::Status status = client->Compile(program, options).status();
  EXPECT_THAT(std::string(status.message()), HasSubstr("xla_no_such_option"));
}

bool UsesXnnpack(Client& client, const Program& program,
                 const CompileOptions& options) {
  const auto executable = client.Compile(program, options);
  EXPECT_TRUE(executable.ok()) << executable.status();
  return (*executable)->OptimizedProgram()->code.find("__xnn_fusion") !=
         std::string::npos;
}

// docs/design/0002.
TEST(PluginTest, TheCpuReducesWithXnnpackUnlessTold) {
  const auto client = CpuPlugin().CreateClient({});
  ASSERT_TRUE(client.ok()) << client.status();
  const Program sums = {.format = "mlir", .code = R"(
      func.func @main(%x: tensor<64x512xf32>)
          -> (tensor<64xf32>, tensor<512xf32>) {
        %zero = stablehlo.constant dense<0.0> : tensor<f32>
        %rows = stablehlo.reduce(%x init: %zero) applies stablehlo.add
            across dimensions = [1]
            : (tensor<64x512xf32>, tensor<f32>) -> tensor<64xf32>
        %columns = stablehlo.reduce(%x init: %zero) applies stablehlo.add
            across dimensions = [0]
            : (tensor<64x512xf32>, tensor<f32>) -> tensor<512xf32>
        return %rows, %columns : tensor<64xf32>, tensor<512xf32>
      })"};
  EXPECT_TRUE(UsesXnnpack(**client, sums, {}));
  EXPECT_FALSE(UsesXnnpack(
      **client, sums,
      {.xla_overrides = {
           {kXnnFusionType, std::string("LIBRARY_FUSION_TYPE_INVALID")}}}));
}

// The constant of a lone reduction goes into its fusion, which devices must
// not then run side by side.
TEST(PluginTest, TheCpuReducesWithoutXnnpackWhereThatIsUnsafe) {
  const auto client = CpuPlugin().CreateClient({});
  ASSERT_TRUE(client.ok()) << client.status();
  const Program sum = {.format = "mlir", .code = R"(
      func.func @main(%x: tensor<64x512xf32>) -> tensor<64xf32> {
        %zero = stablehlo.constant dense<0.0> : tensor<f32>
        %sum = stablehlo.reduce(%x init: %zero) applies stablehlo.add
            across dimensions = [1]
            : (tensor<64x512xf32>, tensor<f32>) -> tensor<64xf32>
        return %sum : tensor<64xf32>
      })"};
  EXPECT_FALSE(UsesXnnpack(**client, sum, {}));
  EXPECT_TRUE(UsesXnnpack(
      **client, sum,
      {.xla_overrides = {
           {kXnnFusionType, std::string("LIBRARY_FUSION_TYPE_REDUCE")}}}));
}

// XLA makes one kernel of so small a loop, and fails at its reduction.
TEST(PluginTest, TheCpuReducesInSmallLoops) {
  const auto client = CpuPlugin().CreateClient({});
  ASSERT_TRUE(client.ok()) << client.status();
  const Program loop = {.format = "mlir", .code = R"(
      func.func @main(%x: tensor<4x8xf32>) -> tensor<f32> {
        %zero = stablehlo.constant dense<0.0> : tensor<f32>
        %none = stablehlo.constant dense<0> : tensor<i32>
        %one = stablehlo.constant dense<1> : tensor<i32>
        %last = stablehlo.constant dense<4> : tensor<i32>
        %out:3 = stablehlo.while(%i = %none, %sum = %zero, %rows = %x)
            : tensor<i32>, tensor<f32>, tensor<4x8xf32>
        cond {
          %more = stablehlo.compare LT, %i, %last
              : (tensor<i32>, tensor<i32>) -> tensor<i1>
          stablehlo.return %more : tensor<i1>
        } do {
          %row = stablehlo.dynamic_slice %rows, %i, %none, sizes = [1, 8]
              : (tensor<4x8xf32>, tensor<i32>, tensor<i32>) -> tensor<1x8xf32>
          %part = stablehlo.reduce(%row init: %zero) applies stablehlo.add
              across dimensions = [0, 1]
              : (tensor<1x8xf32>, tensor<f32>) -> tensor<f32>
          %next = stablehlo.add %sum, %part : tensor<f32>
          %j = stablehlo.add %i, %one : tensor<i32>
          stablehlo.return %j, %next, %rows
              : tensor<i32>, tensor<f32>, tensor<4x8xf32>
        }
        return %out#1 : tensor<f32>
      })"};
  EXPECT_EQ((*client)->Compile(loop, {}).status(), absl::OkStatus());
}

TEST(PluginTest, AlignedHostMemoryWithOwnerIsUsedInPlaceOnTheCpu) {
  struct alignas(64) Aligned {
    float values[16] = {};
  };
  const auto client = *CpuPlugin().CreateClient({});
  const auto host = std::make_shared<Aligned>();
  const auto buffer = client->FromHost(
      {.bytes = {reinterpret_cast<const std::byte*>(host->values), 64},
       .shape = {ElementType::kF32, {16}},
       .owner = host},
      *client->devices()[0]);
  ASSERT_TRUE(buffer.ok()) << buffer.status();
  EXPECT_EQ(*(*buffer)->Address(), reinterpret_cast<uintptr_t>(host->values));
  EXPECT_EQ(host.use_count(), 2);
  (*buffer)->Delete();
  for (int i = 0; i < 1000 && host.use_count() > 1; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_EQ(host.use_count(), 1);
}

}  // namespace
}  // namespace meshwright
