#include "meshwright/runtime/compile_cache.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/engine/plugin.h"
#include "meshwright/engine/seen_cores.h"

namespace meshwright {
namespace {

namespace fs = std::filesystem;

constexpr char kTwice[] = R"(
    func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %y = stablehlo.add %x, %x : tensor<4xf32>
      return %y : tensor<4xf32>
    })";

class CompileCacheTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto plugin = Plugin::Load(FindPlugin("cpu").value());
    ASSERT_TRUE(plugin.ok()) << plugin.status();
    client_ = (*plugin)->CreateClient({.cpu_devices = 2}).value();
    folder_ = fs::path(testing::TempDir()) /
              testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(folder_);
  }

  // Four times 1.5, doubled.
  float Run(Executable& executable) {
    const std::vector<float> ones(4, 1.5F);
    const BufferPtr x = client_
                            ->FromHost({.bytes = AsBytes(ones),
                                        .shape = {ElementType::kF32, {4}}},
                                       *executable.devices()[0])
                            .value();
    Buffer* const argument = x.get();
    const Execution run = executable.ExecuteSingle({&argument, 1}).value();
    std::vector<float> values(4);
    EXPECT_TRUE(run.outputs[0][0]->ReadToHost(AsWritableBytes(values)).ok());
    return values[3];
  }

  std::vector<fs::path> Files() const {
    std::vector<fs::path> files;
    for (const auto& file : fs::directory_iterator(folder_)) {
      files.push_back(file.path());
    }
    return files;
  }

  std::unique_ptr<Client> client_;
  fs::path folder_;
};

TEST_F(CompileCacheTest, FindsWhatAnotherCompiled) {
  CompileCache first(folder_);
  EXPECT_EQ(Run(**first.Compile(*client_, {"mlir", kTwice}, {})), 3);
  EXPECT_EQ(first.hits(), 0);
  CompileCache second(folder_);
  EXPECT_EQ(Run(**second.Compile(*client_, {"mlir", kTwice}, {})), 3);
  EXPECT_EQ(second.hits(), 1);
  EXPECT_EQ(Files().size(), 1u);
}

TEST_F(CompileCacheTest, ProgramsForOtherCoresAreApart) {
  CompileCache cache(folder_);
  ASSERT_TRUE(cache.Compile(*client_, {"mlir", kTwice}, {}).ok());
  const SeenCores other(64);
  ASSERT_TRUE(cache.Compile(*client_, {"mlir", kTwice}, {}).ok());
  EXPECT_EQ(cache.hits(), 0);
  ASSERT_TRUE(cache.Compile(*client_, {"mlir", kTwice}, {}).ok());
  EXPECT_EQ(cache.hits(), 1);
}

TEST_F(CompileCacheTest, BuildsOfAPluginAreApart) {
  CompileCache cache(folder_);
  ASSERT_TRUE(cache.Compile(*client_, {"mlir", kTwice}, {}).ok());
  const fs::path other = fs::path(testing::TempDir()) / "other_build.so";
  std::ofstream(other) << "another";
  const char* const before = std::getenv("MESHWRIGHT_PJRT_PLUGIN");
  const std::string kept = before != nullptr ? before : "";
  ::setenv("MESHWRIGHT_PJRT_PLUGIN",
           absl::StrCat("cpu=", other.string()).c_str(), 1);
  EXPECT_TRUE(cache.Compile(*client_, {"mlir", kTwice}, {}).ok());
  EXPECT_EQ(cache.hits(), 0);
  before != nullptr ? ::setenv("MESHWRIGHT_PJRT_PLUGIN", kept.c_str(), 1)
                    : ::unsetenv("MESHWRIGHT_PJRT_PLUGIN");
  EXPECT_TRUE(cache.Compile(*client_, {"mlir", kTwice}, {}).ok());
  EXPECT_EQ(cache.hits(), 1);
}

TEST_F(CompileCacheTest, OptionsAreApart) {
  CompileCache cache(folder_);
  for (const int device : {0, 1}) {
    const auto made =
        cache.Compile(*client_, {"mlir", kTwice}, {.device_ids = {device}});
    ASSERT_TRUE(made.ok()) << made.status();
    EXPECT_EQ((*made)->devices()[0]->id(), device);
  }
  EXPECT_EQ(cache.hits(), 0);
  const auto again =
      cache.Compile(*client_, {"mlir", kTwice}, {.device_ids = {1}});
  EXPECT_EQ(cache.hits(), 1);
  EXPECT_EQ((*again)->devices()[0]->id(), 1);
  EXPECT_EQ(Run(**again), 3);
}

TEST_F(CompileCacheTest, DamagedFilesAreMadeAnew) {
  CompileCache cache(folder_);
  ASSERT_TRUE(cache.Compile(*client_, {"mlir", kTwice}, {}).ok());
  const fs::path file = Files()[0];
  {
    std::fstream bytes(file, std::ios::in | std::ios::out | std::ios::binary);
    bytes.seekp(200);
    bytes.put('x').put('y').put('z');
  }
  EXPECT_EQ(Run(**cache.Compile(*client_, {"mlir", kTwice}, {})), 3);
  EXPECT_EQ(cache.hits(), 0);
  EXPECT_EQ(Run(**cache.Compile(*client_, {"mlir", kTwice}, {})), 3);
  EXPECT_EQ(cache.hits(), 1);
  std::ofstream(file, std::ios::trunc) << "short";
  EXPECT_EQ(Run(**cache.Compile(*client_, {"mlir", kTwice}, {})), 3);
}

TEST_F(CompileCacheTest, OldFilesGo) {
  CompileCache cache(folder_, /*limit=*/1);
  ASSERT_TRUE(cache.Compile(*client_, {"mlir", kTwice}, {}).ok());
  EXPECT_TRUE(Files().empty());
}

TEST_F(CompileCacheTest, WorksWithoutAFolder) {
  CompileCache none("");
  EXPECT_EQ(Run(**none.Compile(*client_, {"mlir", kTwice}, {})), 3);
  CompileCache impossible("/proc/nothing");
  EXPECT_EQ(Run(**impossible.Compile(*client_, {"mlir", kTwice}, {})), 3);
}

}  // namespace
}  // namespace meshwright
