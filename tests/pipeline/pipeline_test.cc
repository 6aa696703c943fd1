// Zoo models run as pipelines against one device.
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/partition/partition_oracle.h"
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

TEST(PipelineTest, Gpt) {
  const Module module = ValueOf(ReadZooModule("gpt_tiny"));
  const auto oracle = ValueOf(PipelineOracle::Create(module, 4, kSteps));
  const StagedStep staged = ValueOf(oracle->Staged(2));
  for (const StageProgram& program : staged.programs) {
    std::cerr << program.Name() << " " << program.module.entry()->size()
              << " instructions, " << program.inputs.size() << " in, "
              << program.results.size() << " out\n";
  }
  for (const StageValue& value : staged.values) {
    for (int32_t user : value.users) {
      if (staged.programs[user].stage != staged.programs[value.program].stage) {
        std::cerr << value.name << " " << value.shape.ToString() << " "
                  << staged.programs[value.program].Name() << " -> "
                  << staged.programs[user].Name() << "\n";
      }
    }
  }
  const std::vector<Tensor> outputs = ValueOf(oracle->Run(staged, {}));
  EXPECT_EQ(oracle->Compare(outputs), absl::OkStatus());
}

}  // namespace
}  // namespace meshwright
