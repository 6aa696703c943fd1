// Small steps with what makes pipelines hard, on two stages.
#include <cstdlib>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/partition/micro_batch_oracle.h"
#include "tests/pipeline/pipeline_oracle.h"

namespace meshwright {
namespace {

constexpr int kSteps = 3;

template <typename T>
T ValueOf(absl::StatusOr<T> value) {
  EXPECT_TRUE(value.ok()) << value.status();
  if (!value.ok()) abort();
  return *std::move(value);
}

struct StepCase {
  const char* name;
  int64_t micro_batches;
  double tolerance = 2e-5;
};

class StepPipelineTest : public ::testing::TestWithParam<StepCase> {};

TEST_P(StepPipelineTest, EqualsOneDevice) {
  const StepCase& test = GetParam();
  const Module module = ValueOf(ReadStep(test.name));
  const auto oracle =
      ValueOf(PipelineOracle::Create(module, test.micro_batches, kSteps));
  const StagedStep staged = ValueOf(oracle->Staged(2));
  const auto runs = ValueOf(oracle->Run(
      staged, 2, "data=2", {ScheduleKind::kGPipe, ScheduleKind::kZeroBubble}));
  EXPECT_EQ(oracle->Compare(runs[0], test.tolerance), absl::OkStatus());
  EXPECT_TRUE(runs[0] == runs[1]) << "other bits";
}

INSTANTIATE_TEST_SUITE_P(
    Steps, StepPipelineTest,
    ::testing::Values(StepCase{"clipped", 3}, StepCase{"digits", 2},
                      StepCase{"dropout", 3},
                      StepCase{"half_precision", 2, 5e-2}, StepCase{"mean", 6},
                      StepCase{"metrics", 2}, StepCase{"random_bits", 3},
                      StepCase{"running_mean", 3}, StepCase{"scaled_rows", 2},
                      StepCase{"schedule", 2}, StepCase{"sequence_major", 3},
                      StepCase{"skipped_when_infinite", 2},
                      StepCase{"tied_embeddings", 3}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace meshwright
