// Test support: tensors of random bytes, saved in random regions.
#ifndef MESHWRIGHT_CHECKPOINT_CHECKPOINT_FOR_TEST_H_
#define MESHWRIGHT_CHECKPOINT_CHECKPOINT_FOR_TEST_H_

#include <cstdint>
#include <filesystem>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "meshwright/checkpoint/manifest.h"
#include "meshwright/checkpoint/save_folder.h"
#include "meshwright/checkpoint/shard_file.h"
#include "meshwright/state/tensor.h"

namespace meshwright {

class CheckpointTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto* const info =
        testing::UnitTest::GetInstance()->current_test_info();
    directory_ = absl::StrCat(testing::TempDir(), "/", info->test_suite_name(),
                              "_", info->name(), "_", ::getpid());
    std::filesystem::remove_all(directory_);
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  int64_t Below(int64_t limit) {
    return std::uniform_int_distribution<int64_t>(0, limit - 1)(random_);
  }

  Tensor Random(std::string name, ElementType type,
                std::vector<int64_t> dimensions) {
    Tensor tensor{.name = std::move(name),
                  .type = type,
                  .dimensions = std::move(dimensions)};
    tensor.data.resize(*CheckedBytes(tensor.dimensions, HostBytes(type)));
    for (char& byte : tensor.data) byte = static_cast<char>(random_());
    return tensor;
  }

  // Disjoint regions that cover the tensor.
  std::vector<TensorRegion> RandomRegions(const Tensor& tensor) {
    std::vector<TensorRegion> regions = {
        TensorRegion::Whole(tensor.dimensions)};
    if (tensor.data.empty()) return {};
    for (int64_t i = Below(6); i > 0 && !tensor.dimensions.empty(); --i) {
      const int64_t which = Below(std::ssize(regions));
      const int64_t d = Below(std::ssize(tensor.dimensions));
      TensorRegion rest = regions[which];
      if (rest.limit[d] - rest.start[d] < 2) continue;
      rest.start[d] += 1 + Below(rest.limit[d] - rest.start[d] - 1);
      regions[which].limit[d] = rest.start[d];
      regions.push_back(rest);
    }
    return regions;
  }

  // In `files` files.
  void Save(const std::vector<Tensor>& tensors, int64_t step, int64_t files) {
    std::vector<TensorInfo> infos;
    std::vector<FilePlan> plans(files);
    for (int64_t i = 0; i < files; ++i) plans[i].name = ShardFileName(i);
    for (const Tensor& tensor : tensors) {
      for (TensorRegion& region : RandomRegions(tensor)) {
        plans[Below(files)].entries.push_back(
            {std::ssize(infos), std::move(region)});
      }
      infos.push_back({tensor.name, tensor.type, tensor.dimensions});
    }
    auto folder = SaveFolder::Create(directory_, step);
    ASSERT_TRUE(folder.ok()) << folder.status();
    std::vector<WrittenFile> written;
    for (const FilePlan& plan : plans) {
      auto file = WriteShardFile(
          (*folder)->path(), infos, plan,
          [&](const FilePlan::Entry& entry) -> absl::StatusOr<HostBox> {
            const Tensor& tensor = tensors[entry.tensor];
            return HostBox{.data = tensor.data.data(),
                           .box = {tensor.dimensions, entry.region.start}};
          });
      ASSERT_TRUE(file.ok()) << file.status();
      written.push_back(*std::move(file));
    }
    auto manifest = MakeManifest(infos, plans, written);
    ASSERT_TRUE(manifest.ok()) << manifest.status();
    manifest->step = step;
    manifest->extra = R"({"data":{"position":7}})";
    const absl::Status committed = (*folder)->Commit(*manifest);
    ASSERT_TRUE(committed.ok()) << committed;
  }

  std::string directory_;
  std::mt19937 random_{7};
};

}  // namespace meshwright

#endif  // MESHWRIGHT_CHECKPOINT_CHECKPOINT_FOR_TEST_H_
