// The oracle and `check` see wrong programs: a correct one, broken on purpose,
// is refused by both. `check` tells rounding from errors by what last-bit
// changes of the inputs do; no broken program may pass as rounding.
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/api/planned_runner.h"
#include "meshwright/base/file.h"
#include "meshwright/base/progress.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/cli/compare_runs.h"
#include "meshwright/hlo/read_module.h"
#include "meshwright/hlo/verify.h"
#include "meshwright/mesh/sharding_text.h"
#include "tests/partition/partition_oracle.h"

namespace meshwright {
namespace {

using ::testing::HasSubstr;

// relu(x[64,128] w1[128,256]) w2[256,128]; batch on x, hidden on y: one
// all-reduce over y.
absl::StatusOr<Module> ReadMlp() {
  MW_ASSIGN_OR_RETURN(
      const std::string bytes,
      ReadFile(MW_SOURCE_DIR
               "/tests/partition/testdata/cases/n07_mlp.hlo.pb.zst"));
  MW_ASSIGN_OR_RETURN(Module module, ReadModule(bytes));
  MW_RETURN_IF_ERROR(Verify(module));
  return module;
}

Client* SharedClient() {
  static const auto* const client = [] {
    auto made = MakeClientFor("cpu", 8);
    EXPECT_TRUE(made.ok()) << made.status();
    return new std::unique_ptr<Client>(*std::move(made));
  }();
  return client->get();
}

// What `check` finds.
RunComparison Compared(const Module& module, const Partitioned& split) {
  const auto whole = MakeRunner(module, SharedClient());
  const auto parts = MakeRunner(module, split, SharedClient());
  EXPECT_TRUE(whole.ok()) << whole.status();
  EXPECT_TRUE(parts.ok()) << parts.status();
  const ComparisonOptions options{.steps = 1};
  Progress progress("checking", ComparedSteps(options));
  auto compared = RunAndCompare(module, **whole, **parts, options, progress);
  EXPECT_TRUE(compared.ok()) << compared.status();
  return *std::move(compared);
}

class Mutation : public testing::Test {
 protected:
  void SetUp() override {
    absl::StatusOr<Module> module = ReadMlp();
    ASSERT_TRUE(module.ok()) << module.status();
    module_.emplace(*std::move(module));
    auto oracle = PartitionOracle::Create(*module_, 1);
    ASSERT_TRUE(oracle.ok()) << oracle.status();
    oracle_ = *std::move(oracle);
  }

  Partitioned Split(const std::string& mesh_text,
                    const std::vector<std::string>& parameters,
                    const std::string& output) {
    const absl::StatusOr<Mesh> mesh = Mesh::Parse(mesh_text);
    EXPECT_TRUE(mesh.ok()) << mesh.status();
    const auto parse = [&](const std::string& text, const Shape& shape) {
      const auto sharding = ParseSharding(text, shape.dimensions, *mesh);
      EXPECT_TRUE(sharding.ok()) << sharding.status();
      return Annotation(*sharding);
    };
    Pins pins;
    const std::vector<Instruction*> inputs = module_->entry()->Parameters();
    for (size_t i = 0; i < inputs.size(); ++i) {
      pins.parameters.push_back(parse(parameters[i], inputs[i]->shape));
    }
    pins.outputs.push_back(
        parse(output, module_->entry()->root()->shape.tuple_shapes[0]));
    absl::StatusOr<Partitioned> split = Partition(*module_, *mesh, pins);
    EXPECT_TRUE(split.ok()) << split.status();
    const absl::Status status = oracle_->Check(*split);
    EXPECT_TRUE(status.ok()) << status;
    EXPECT_TRUE(Compared(*module_, *split).ok());
    return *std::move(split);
  }

  Partitioned SplitBothWays() {
    return Split("x=4,y=2", {"[x,-]", "[-,y]", "[y,-]"}, "[x,-]");
  }

  void ExpectRefused(const Partitioned& split) {
    EXPECT_THAT(oracle_->Check(split).ToString(), HasSubstr("output"));
    EXPECT_EQ(Compared(*module_, split).verdict(), ErrorVerdict::kWrong);
  }

  // Takes every `opcode` out: its users get its operand.
  static void Drop(Opcode opcode, Partitioned& split) {
    Computation& entry = *split.module.entry();
    for (const auto& user : entry.instructions()) {
      for (Instruction*& operand : user->operands) {
        if (operand->opcode == opcode) operand = operand->operands[0];
      }
    }
    std::vector<Instruction*> kept;
    for (const auto& instruction : entry.instructions()) {
      if (instruction->opcode != opcode) kept.push_back(instruction.get());
    }
    entry.Keep(kept);
    split.module.Finish();
  }

  std::optional<Module> module_;
  std::unique_ptr<PartitionOracle> oracle_;
};

TEST_F(Mutation, TwoDevicesSwapped) {
  Partitioned split = SplitBothWays();
  absl::StatusOr<Mesh> swapped =
      Mesh::Create(split.mesh.axes(), {0, 1, 4, 3, 2, 5, 6, 7});
  ASSERT_TRUE(swapped.ok()) << swapped.status();
  split.mesh = *swapped;
  // Device 2 has the rows that 4 should add to those of 5.
  ExpectRefused(split);
}

TEST_F(Mutation, PartialSumForgotten) {
  Partitioned split = SplitBothWays();
  ASSERT_EQ(split.collectives.size(), 1u);
  Drop(Opcode::kAllReduce, split);
  // Seen in the collectives, and, reported or not, in the results.
  EXPECT_THAT(oracle_->Check(split).ToString(), HasSubstr("reported more"));
  split.collectives.clear();
  ExpectRefused(split);
}

TEST_F(Mutation, AxesOfOneDimensionSwapped) {
  Partitioned split =
      Split("x=4,y=2", {"[(x,y),-]", "[-,-]", "[-,-]"}, "[(x,y),-]");
  const absl::StatusOr<Sharding> reversed =
      ParseSharding("[(y,x),-]", {64, 128}, split.mesh);
  ASSERT_TRUE(reversed.ok()) << reversed.status();
  split.parameters[0] = *reversed;
  ExpectRefused(split);
}

TEST_F(Mutation, WrongGroups) {
  Partitioned split = SplitBothWays();
  for (const auto& instruction : split.module.entry()->instructions()) {
    if (instruction->opcode != Opcode::kAllReduce) continue;
    instruction->attributes.mutate().replica_groups = {
        {0, 3}, {1, 2}, {4, 7}, {5, 6}};
  }
  ExpectRefused(split);
}

TEST_F(Mutation, CollectiveNotReported) {
  Partitioned split = SplitBothWays();
  split.collectives.clear();
  EXPECT_THAT(oracle_->Check(split).ToString(), HasSubstr("reported fewer"));
}

TEST_F(Mutation, CollectiveOfOtherSizeReported) {
  Partitioned split = SplitBothWays();
  split.collectives[0].bytes *= 2;
  EXPECT_THAT(oracle_->Check(split).ToString(), HasSubstr("reported more"));
}

TEST_F(Mutation, SplitOutputSaidToBeWhole) {
  // Every device is looked at; the first one has what is expected.
  Partitioned split = SplitBothWays();
  split.outputs[0] = Sharding::Replicated({64, 128});
  EXPECT_THAT(oracle_->Check(split).ToString(), HasSubstr("output"));
  EXPECT_THAT(MakeRunner(*module_, split, SharedClient()).status().ToString(),
              HasSubstr("the shards are f32[64,128]"));
}

}  // namespace
}  // namespace meshwright
