// Steps split into micro-batches against the whole step.
#include "meshwright/partition/micro_batches.h"

#include <memory>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/partition/micro_batch_oracle.h"

namespace meshwright {
namespace {

using ::testing::HasSubstr;

constexpr int kSteps = 3;

struct ZooCase {
  const char* name;
  int64_t count;
};

class ZooTest : public ::testing::TestWithParam<ZooCase> {};

TEST_P(ZooTest, EqualsTheWholeStep) {
  absl::StatusOr<Module> module = ReadZooModule(GetParam().name);
  ASSERT_TRUE(module.ok()) << module.status();
  absl::StatusOr<MicroBatched> split =
      SplitMicroBatches(*module, {.count = GetParam().count});
  ASSERT_TRUE(split.ok()) << split.status();
  const auto oracle = PartitionOracle::Create(*module, kSteps);
  ASSERT_TRUE(oracle.ok()) << oracle.status();
  const absl::StatusOr<Mesh> one = Mesh::Parse("1");
  const absl::Status status = CheckMicroBatches(**oracle, *split, *one);
  EXPECT_TRUE(status.ok()) << status;
}

std::string NameOf(const ::testing::TestParamInfo<ZooCase>& info) {
  return std::string(info.param.name) + "_" + std::to_string(info.param.count);
}

INSTANTIATE_TEST_SUITE_P(
    Zoo, ZooTest,
    ::testing::Values(ZooCase{"bert_tiny", 2}, ZooCase{"bert_tiny", 4},
                      ZooCase{"gpt_tiny", 2}, ZooCase{"gpt_tiny", 4},
                      ZooCase{"gpt_tiny_jax0435", 2},
                      ZooCase{"gpt_scan_tiny", 2}, ZooCase{"gpt_scan_tiny", 4},
                      ZooCase{"llama_tiny", 2}, ZooCase{"vit_tiny", 4},
                      ZooCase{"moe_tiny", 2}, ZooCase{"unet_tiny", 2},
                      ZooCase{"wide_resnet_tiny", 2}),
    NameOf);

}  // namespace
}  // namespace meshwright
