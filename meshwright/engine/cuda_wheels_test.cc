#include "meshwright/engine/cuda_wheels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace meshwright {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class CudaWheelsTest : public testing::Test {
 protected:
  void SetUp() override {
    // Tests of this suite may run at the same time, a process each.
    root_ = fs::path(testing::TempDir()) /
            ("cuda_wheels_test." + std::to_string(getpid()));
    fs::remove_all(root_);
  }
  void TearDown() override { fs::remove_all(root_); }
  void Touch(const std::string& path) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << "x";
  }
  std::string Path(const std::string& path) { return root_ / path; }

  std::string plugin() {
    return Path("jax_plugins/xla_cuda13/xla_cuda_plugin.so");
  }

  fs::path root_;
};

TEST_F(CudaWheelsTest, FindsLibrariesInLoadingOrder) {
  Touch("nvidia/cudnn/lib/libcudnn.so.9");
  Touch("nvidia/cudnn/lib/libcudnn_ops.so.9");
  Touch("nvidia/cu13/lib/libcudart.so.13");
  Touch("nvidia/cu13/lib/libcublas.so.13");
  Touch("nvidia/cu13/lib/libcublasLt.so.13");
  Touch("nvidia/cu13/include/cuda.h");
  EXPECT_THAT(FindCudaLibraries(plugin()),
              ElementsAre(Path("nvidia/cu13/lib/libcudart.so.13"),
                          Path("nvidia/cu13/lib/libcublasLt.so.13"),
                          Path("nvidia/cu13/lib/libcublas.so.13"),
                          Path("nvidia/cudnn/lib/libcudnn.so.9")));
}

TEST_F(CudaWheelsTest, FindsTheDataFolderOfEitherGeneration) {
  EXPECT_EQ(FindCudaDataFolder(plugin()), "");
  Touch("nvidia/cublas/lib/libcublas.so.12");
  EXPECT_EQ(FindCudaDataFolder(plugin()), "");
  Touch("nvidia/cuda_nvcc/bin/ptxas");
  EXPECT_EQ(FindCudaDataFolder(plugin()), Path("nvidia/cuda_nvcc"));
  Touch("nvidia/cu13/nvvm/libdevice/libdevice.10.bc");
  EXPECT_EQ(FindCudaDataFolder(plugin()), Path("nvidia/cu13"));
}

TEST_F(CudaWheelsTest, NoPackagesMeansNone) {
  EXPECT_THAT(FindCudaLibraries("plugin.so"), IsEmpty());
  EXPECT_EQ(FindCudaDataFolder("/plugin.so"), "");
}

}  // namespace
}  // namespace meshwright
