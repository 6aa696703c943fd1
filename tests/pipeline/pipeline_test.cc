// Zoo models run as pipelines against one device.
//
// With MW_LONG set every model, 2 and 4 stages, 1 and 2 devices each, 4 and 8
// micro-batches, all schedules; otherwise a few.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/base/is_long_for_test.h"
#include "tests/partition/partition_oracle.h"
#include "tests/pipeline/pipeline_oracle.h"
#include "tests/pipeline/value_of.h"

namespace meshwright {
namespace {

struct Schedules {
  int ranks = 1;
  std::vector<ScheduleKind> kinds;
};

// Those with as many ranks as stages, with half as many in turns, and back and
// forth.
std::vector<Schedules> SchedulesFor(int stages) {
  return {
      {stages,
       {ScheduleKind::kGPipe, ScheduleKind::k1F1B, ScheduleKind::kZeroBubble}},
      {stages / 2, {ScheduleKind::kInterleaved, ScheduleKind::kBreadthFirst}},
      {stages / 2, {ScheduleKind::kZeroBubbleV}}};
}

struct ZooCase {
  const char* model;
  int64_t micro_batches;
  int32_t stages;
  const char* mesh;
  bool estimates = false;  // Statistics of the batch.
};

class ZooPipelineTest : public ::testing::TestWithParam<ZooCase> {};

TEST_P(ZooPipelineTest, EqualsOneDeviceBySchedulesAlike) {
  const ZooCase& test = GetParam();
  const Module module = ValueOf(ReadZooModule(test.model));
  const auto oracle = ValueOf(PipelineOracle::Create(
      module, {.count = test.micro_batches, .allow_inexact = test.estimates},
      kStepsCompared, test.stages));
  const StagedStep staged = ValueOf(oracle->Staged());
  std::vector<Tensor> first;
  for (const Schedules& schedules : SchedulesFor(test.stages)) {
    const auto runs = ValueOf(
        oracle->Run(staged, schedules.ranks, test.mesh, schedules.kinds));
    for (const std::vector<Tensor>& outputs : runs) {
      if (first.empty()) {
        EXPECT_EQ(oracle->Compare(outputs), absl::OkStatus());
        first = outputs;
      }
      EXPECT_TRUE(outputs == first) << "other bits";
    }
    if (!IsLong()) break;
  }
}

std::vector<ZooCase> ZooCases() {
  if (!IsLong()) {
    return {{"gpt_tiny", 4, 2, "data=2"}, {"llama_tiny", 4, 4, "data=1"}};
  }
  std::vector<ZooCase> cases;
  for (const char* model : {"gpt_tiny", "bert_tiny", "gpt_scan_tiny",
                            "gpt_tiny_jax0435", "llama_tiny", "moe_tiny",
                            "unet_tiny", "vit_tiny", "wide_resnet_tiny"}) {
    for (const int64_t micro_batches : {4, 8}) {
      for (const int32_t stages : {2, 4}) {
        for (const char* mesh : {"data=1", "data=2"}) {
          // Its tokens are routed in 4 groups, which are not cut.
          if (model == std::string("moe_tiny") && micro_batches > 4) continue;
          const bool estimates = std::string(model) == "wide_resnet_tiny";
          cases.push_back({model, micro_batches, stages, mesh, estimates});
        }
      }
    }
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Zoo, ZooPipelineTest, ::testing::ValuesIn(ZooCases()),
                         [](const auto& test) {
                           return absl::StrCat(test.param.model, "_",
                                               test.param.micro_batches, "x",
                                               test.param.stages, "_on_",
                                               test.param.mesh + 5);
                         });

}  // namespace
}  // namespace meshwright
