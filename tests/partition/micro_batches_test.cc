// Steps split into micro-batches against the whole step.
#include "meshwright/microbatch/micro_batches.h"

#include <map>
#include <memory>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/base/is_long_for_test.h"
#include "meshwright/hlo/print_module.h"
#include "meshwright/microbatch/one_phase.h"
#include "tests/partition/micro_batch_oracle.h"
#include "tests/partition/partition_oracle.h"

namespace meshwright {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

using Kind = MicroBatchArgument::Kind;

template <typename T>
T ValueOf(absl::StatusOr<T> value) {
  EXPECT_TRUE(value.ok()) << value.status();
  if (!value.ok()) abort();
  return *std::move(value);
}

// The module runs whole once per test program.
const PartitionOracle& OracleOf(const Module& module, const std::string& name) {
  static auto* const oracles =
      new std::map<std::string, std::unique_ptr<PartitionOracle>>();
  std::unique_ptr<PartitionOracle>& oracle = (*oracles)[name];
  if (oracle == nullptr) {
    oracle = ValueOf(PartitionOracle::Create(module, kStepsCompared));
  }
  return *oracle;
}

class ZooTest : public ::testing::TestWithParam<const char*> {};

TEST_P(ZooTest, EqualsTheWholeStep) {
  const Module module = ValueOf(ReadZooModule(GetParam()));
  const PartitionOracle& oracle = OracleOf(module, GetParam());
  for (const int64_t count : {2, 4}) {
    if (count == 4 && !IsLong()) continue;
    const MicroBatched split =
        ValueOf(SplitMicroBatches(module, {.count = count}));
    EXPECT_EQ(split.phases.size(), 1);
    EXPECT_EQ(CheckMicroBatches(oracle, split, ValueOf(Mesh::Parse("1"))),
              absl::OkStatus());
  }
}

// One accumulator per weight, a third of Adam's state, and the loss.
TEST_P(ZooTest, AccumulatesNoMoreThanTheGradients) {
  const Module module = ValueOf(ReadZooModule(GetParam()));
  const MicroBatched split = ValueOf(SplitMicroBatches(module, {.count = 2}));
  int64_t state = 0;
  for (const Instruction* parameter : module.entry()->Parameters()) {
    if (parameter->frontend_attributes.at("mw.role") == "state") {
      state += ByteSize(parameter->shape);
    }
  }
  int64_t accumulated = 0;
  for (const Accumulator& accumulator : split.accumulators) {
    accumulated += ByteSize(accumulator.shape);
  }
  EXPECT_LE(accumulated, state / 3 + 8);
}

INSTANTIATE_TEST_SUITE_P(Zoo, ZooTest,
                         ::testing::Values("bert_tiny", "gpt_scan_tiny",
                                           "gpt_tiny", "gpt_tiny_jax0435",
                                           "llama_tiny", "moe_tiny",
                                           "unet_tiny", "vit_tiny"),
                         [](const auto& test) { return test.param; });

TEST(ZooOnDevicesTest, EqualsTheWholeStep) {
  const Mesh mesh = ValueOf(Mesh::Parse("data=2"));
  for (const char* name : {"gpt_tiny", "gpt_scan_tiny"}) {
    const Module module = ValueOf(ReadZooModule(name));
    const MicroBatched split = ValueOf(SplitMicroBatches(module, {.count = 2}));
    EXPECT_EQ(CheckMicroBatches(OracleOf(module, name), split, mesh,
                                /*split_accumulators=*/true),
              absl::OkStatus());
  }
}

struct MicroBatchCase {
  const char* name;
  int64_t count;
  size_t phases = 1;
  size_t accumulators = 3;  // Two gradients and the loss.
  const char* mesh = "1";
  bool split_accumulators = false;
};

class StepTest : public ::testing::TestWithParam<MicroBatchCase> {};

TEST_P(StepTest, EqualsTheWholeStep) {
  const MicroBatchCase& test = GetParam();
  const Module module = ValueOf(ReadStep(test.name));
  const MicroBatched split =
      ValueOf(SplitMicroBatches(module, {.count = test.count}));
  EXPECT_EQ(split.phases.size(), test.phases);
  EXPECT_EQ(split.accumulators.size(), test.accumulators);
  EXPECT_EQ(CheckMicroBatches(OracleOf(module, test.name), split,
                              ValueOf(Mesh::Parse(test.mesh)),
                              test.split_accumulators),
            absl::OkStatus());
}

INSTANTIATE_TEST_SUITE_P(
    Steps, StepTest,
    ::testing::Values(
        MicroBatchCase{"mean", 12}, MicroBatchCase{"clipped", 3},
        MicroBatchCase{"digits", 2, 1, 5}, MicroBatchCase{"digits", 4, 1, 5},
        MicroBatchCase{"digits", 6, 1, 5}, MicroBatchCase{"dropout", 3},
        MicroBatchCase{"frozen_weights", 4},
        MicroBatchCase{"half_precision", 4},
        MicroBatchCase{"masked_mean", 4, 2, 4},
        MicroBatchCase{"metrics", 4, 1, 10}, MicroBatchCase{"random_bits", 2},
        MicroBatchCase{"running_mean", 4, 1, 4},
        MicroBatchCase{"scanned_dropout", 3, 1, 2},
        MicroBatchCase{"scaled_rows", 3}, MicroBatchCase{"schedule", 4},
        MicroBatchCase{"skipped_when_infinite", 4},
        MicroBatchCase{"softmax_weights", 4, 3, 5},
        MicroBatchCase{"tied_embeddings", 3, 1, 2},
        MicroBatchCase{"digits", 2, 1, 5, "data=2"},
        MicroBatchCase{"dropout", 2, 1, 3, "data=3"},
        MicroBatchCase{"masked_mean", 2, 2, 4, "data=3", true},
        MicroBatchCase{"metrics", 3, 1, 10, "data=2", true},
        MicroBatchCase{"random_bits", 3, 1, 3, "data=4"},
        MicroBatchCase{"scanned_dropout", 2, 1, 2, "data=2"}),
    [](const auto& test) {
      return std::string(test.param.name) + "_" +
             std::to_string(test.param.count) +
             (test.param.mesh[0] == '1' ? "" : "_on_devices");
    });

TEST(MicroBatchesTest, OnePhaseIsEnoughWhereEachComputesTheSums) {
  for (const char* name : {"masked_mean", "softmax_weights"}) {
    const Module module = ValueOf(ReadStep(name));
    const MicroBatched split = ValueOf(SplitInOnePhase(module, {.count = 4}));
    EXPECT_EQ(split.phases.size(), 1);
    EXPECT_EQ(CheckMicroBatches(OracleOf(module, name), split,
                                ValueOf(Mesh::Parse("1"))),
              absl::OkStatus());
  }
}

TEST(MicroBatchesTest, CutsTheDimensionThatIsGiven) {
  for (const char* name : {"accumulated_by_hand", "sequence_major"}) {
    const Module module = ValueOf(ReadStep(name));
    MicroBatchOptions options{.count = 3};
    options.batch_dims = {std::nullopt, kNoBatch, 1};
    if (std::string(name) == "sequence_major") {
      options.batch_dims.push_back(kNoBatch);
    }
    const MicroBatched split = ValueOf(SplitMicroBatches(module, options));
    EXPECT_EQ(CheckMicroBatches(OracleOf(module, name), split,
                                ValueOf(Mesh::Parse("1"))),
              absl::OkStatus());
  }
}

TEST(MicroBatchesTest, FindsABatchThatIsTheSecondDimension) {
  const Module module = ValueOf(ReadStep("accumulated_by_hand"));
  const MicroBatched split = ValueOf(SplitMicroBatches(module, {.count = 3}));
  EXPECT_EQ(split.phases[0].arguments[2].batch_dim, 1);
  EXPECT_EQ(CheckMicroBatches(OracleOf(module, "accumulated_by_hand"), split,
                              ValueOf(Mesh::Parse("1"))),
            absl::OkStatus());
}

TEST(MicroBatchesTest, SaysWhatGoesInAndOut) {
  const Module module = ValueOf(ReadStep("schedule"));
  const MicroBatched split = ValueOf(SplitMicroBatches(module, {.count = 4}));
  // Of the step's (in, out, count, x) the micro-batch needs no count.
  const MicroBatchProgram& micro = split.phases[0];
  ASSERT_EQ(micro.arguments.size(), 7);
  EXPECT_EQ(micro.arguments[0].index, 0);
  EXPECT_EQ(micro.arguments[1].index, 1);
  EXPECT_EQ(micro.arguments[1].batch_dim, std::nullopt);
  EXPECT_EQ(micro.arguments[2].index, 3);
  EXPECT_EQ(micro.arguments[2].batch_dim, 0);
  EXPECT_EQ(micro.arguments[3].kind, Kind::kIndex);
  EXPECT_EQ(micro.arguments[4].kind, Kind::kAccumulator);
  EXPECT_EQ(micro.module.entry()->Parameters()[2]->shape.ToString(),
            "f32[3,8]");
  EXPECT_THAT(micro.accumulators, ElementsAre(0, 1, 2));
  EXPECT_EQ(micro.module.aliases.size(), 3);
  EXPECT_EQ(micro.module.aliases[0].parameter_number, 4);
  // The end needs no x. State keeps its places.
  EXPECT_EQ(split.apply.arguments.size(), 6);
  EXPECT_EQ(split.apply.arguments[2].index, 2);
  EXPECT_EQ(split.apply.module.aliases.size(), module.aliases.size());
  EXPECT_EQ(split.apply.module.entry()->root()->shape.ToString(),
            module.entry()->root()->shape.ToString());
}

// Half-precision gradients are summed in f32.
TEST(MicroBatchesTest, AccumulatesInFullPrecision) {
  const Module module = ValueOf(ReadStep("half_precision"));
  const MicroBatched split = ValueOf(SplitMicroBatches(module, {.count = 4}));
  for (const Accumulator& accumulator : split.accumulators) {
    EXPECT_EQ(accumulator.shape.element_type, ElementType::kF32);
  }
}

// Masks are made for the micro-batch, also where a loop makes them.
TEST(MicroBatchesTest, MakesNothingForTheWholeBatch) {
  for (const char* name : {"dropout", "scanned_dropout", "masked_mean"}) {
    const Module module = ValueOf(ReadStep(name));
    const MicroBatched split = ValueOf(SplitMicroBatches(module, {.count = 3}));
    for (const MicroBatchProgram& phase : split.phases) {
      EXPECT_THAT(ToString(phase.module), Not(HasSubstr("[12")));
    }
  }
}

TEST(MicroBatchesTest, RefusesWhatWorksAcrossTheBatch) {
  const std::map<std::string, std::string> reasons = {
      {"batch_norm", "its sum over all micro-batches is needed within them"},
      {"contrastive", "works across micro-batches"},
      {"flattened", "has the batch as the minor part of a dimension"},
      {"hard_examples", "sort"},
      {"ranked", "reduce_window"},
  };
  for (const auto& [name, reason] : reasons) {
    const Module module = ValueOf(ReadStep(name));
    const absl::Status status =
        SplitMicroBatches(module, {.count = 2}).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << name;
    EXPECT_THAT(std::string(status.message()), HasSubstr(reason)) << name;
  }
  const Module looped = ValueOf(ReadStep("accumulated_by_hand"));
  EXPECT_THAT(std::string(SplitMicroBatches(
                              looped, {.count = 2, .batch_dims = {{}, {}, 0}})
                              .status()
                              .message()),
              HasSubstr("picks examples from the whole batch inside a loop"));
  const Module resnet = ValueOf(ReadZooModule("wide_resnet_tiny"));
  const absl::Status status = SplitMicroBatches(resnet, {.count = 2}).status();
  EXPECT_THAT(std::string(status.message()),
              AllOf(StartsWith("reduce_sum."), HasSubstr("needed within")));
}

// As if each micro-batch were a batch of its own.
TEST(MicroBatchesTest, EstimatesWhereThatIsAllowed) {
  for (const std::string name : {"batch_norm", "scanned_batch_norm"}) {
    const Module module = ValueOf(ReadStep(name));
    const MicroBatched split =
        ValueOf(SplitMicroBatches(module, {.count = 3, .allow_inexact = true}));
    EXPECT_EQ(split.phases.size(), 1);
    EXPECT_FALSE(split.estimated.empty());
    const std::string thirds_name = name + "_of_thirds";
    const Module thirds = ValueOf(ReadStep(thirds_name));
    EXPECT_EQ(CheckMicroBatches(OracleOf(thirds, thirds_name), split,
                                ValueOf(Mesh::Parse("1"))),
              absl::OkStatus());
  }
  const Module exact = ValueOf(ReadStep("masked_mean"));
  EXPECT_TRUE(
      ValueOf(SplitMicroBatches(exact, {.count = 3, .allow_inexact = true}))
          .estimated.empty());
}

TEST(MicroBatchesTest, RefusesBatchesThatDoNotFit) {
  const Module module = ValueOf(ReadStep("mean"));
  const auto message = [&](const MicroBatchOptions& options) {
    const absl::Status status = SplitMicroBatches(module, options).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    return std::string(status.message());
  };
  EXPECT_THAT(message({.count = 5}),
              "parameter x f32[12,8]: dimension 0 does not divide into 5 "
              "micro-batches");
  EXPECT_THAT(message({.count = 2, .batch_dims = {{}, {}, 2}}),
              "parameter x f32[12,8] has no dimension 2");
  EXPECT_THAT(message({.count = 2, .batch_dims = {{}, {}, kNoBatch}}),
              HasSubstr("no parameter holds a batch"));
  EXPECT_THAT(message({.count = 2, .batch_dims = {{}, {}, {}, {}}}),
              HasSubstr("4 batch dimensions are given for 3 parameters"));
  EXPECT_THAT(message({.count = 1}), HasSubstr("1 micro-batches"));
}

}  // namespace
}  // namespace meshwright
