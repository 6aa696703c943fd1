// Steps on several devices.
#include <cmath>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/engine/plugin.h"
#include "meshwright/mesh/sharding_text.h"
#include "meshwright/runtime/counter_step_for_test.h"
#include "meshwright/runtime/local_runner.h"

namespace meshwright {
namespace {

using testing::HasSubstr;

class ShardedStepTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto plugin = Plugin::Load(FindPlugin("cpu").value());
    ASSERT_TRUE(plugin.ok()) << plugin.status();
    client_ = (*plugin)->CreateClient({.cpu_devices = 4}).value();
  }

  // The step on vectors of n with shardings given as text.
  ShardedStep Step(const Module& program, int64_t n, absl::string_view w,
                   absl::string_view x, absl::string_view next) {
    const auto parse = [&](absl::string_view text) {
      return ParseSharding(text, {n}, mesh_).value();
    };
    return {program,
            mesh_,
            {parse(w), parse(x)},
            {parse(next), Sharding::Replicated({})}};
  }

  absl::StatusOr<std::unique_ptr<JobRunner>> Create(const Module& module,
                                                    ShardedStep step) {
    return MakeLocalRunner(module, std::move(step), client_.get());
  }

  // Devices out of order: 0 and 3 have the first half of what a splits.
  const Mesh mesh_ = Mesh::Create({{"a", 2}, {"b", 2}}, {0, 3, 1, 2}).value();
  std::unique_ptr<Client> client_;
};

TEST_F(ShardedStepTest, StateStaysSplitAndComesOutWhole) {
  const Module module = CounterForTest(4);
  const Module program = CounterForTest(2, mesh_.Groups(mesh_.SubAxes(0)));
  const auto runner = Create(module, Step(program, 4, "[a]", "[a]", "[a]"));
  ASSERT_TRUE(runner.ok()) << runner.status();
  ASSERT_TRUE((*runner)
                  ->Set({FloatsForTest("w", {1, 2, 3, 4}),
                         FloatsForTest("x", {10, 20, 30, 40})})
                  .ok());
  for (const double want : {10.0, 110.0, 210.0}) {
    const auto result = (*runner)->Step();
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(result->loss, want);
    EXPECT_TRUE((*runner)->CheckOutputCopies().ok());
  }
  const auto state = (*runner)->ReadState();
  ASSERT_TRUE(state.ok()) << state.status();
  ASSERT_EQ(state->size(), 1u);
  EXPECT_EQ((*state)[0], FloatsForTest("w", {31, 62, 93, 124}));
  const auto outputs = (*runner)->ReadOutputs();
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  ASSERT_EQ(outputs->size(), 2u);
  EXPECT_EQ((*outputs)[0].data, (*state)[0].data);
  EXPECT_EQ((*outputs)[1].dimensions, std::vector<int64_t>());
}

TEST_F(ShardedStepTest, SyntheticValuesAreThoseOfOneDevice) {
  const Module module = CounterForTest(4);
  const Module program = CounterForTest(2, mesh_.Groups(mesh_.SubAxes(1)));
  const auto sharded = Create(module, Step(program, 4, "[b]", "[b]", "[b]"));
  ASSERT_TRUE(sharded.ok()) << sharded.status();
  const auto single = MakeLocalRunner(module, client_.get());
  ASSERT_TRUE(single.ok()) << single.status();
  for (JobRunner* runner : {sharded->get(), single->get()}) {
    ASSERT_TRUE(runner->FillSynthetic(7).ok());
    ASSERT_TRUE(runner->Step().ok());
  }
  EXPECT_EQ(*(*sharded)->ReadState(), *(*single)->ReadState());
}

TEST_F(ShardedStepTest, PaddingIsFilledAndNotRead) {
  const Module module = CounterForTest(5);
  const Module program = CounterForTest(2, mesh_.Groups(mesh_.AllSubAxes()));
  const auto create = [&](char padding) {
    ShardedStep step = Step(program, 5, "[(a,b)]", "[(a,b)]", "[(a,b)]");
    step.padding = padding;
    auto runner = Create(module, std::move(step)).value();
    EXPECT_TRUE(runner
                    ->Set({FloatsForTest("w", {1, 2, 3, 4, 5}),
                           FloatsForTest("x", {1, 1, 1, 1, 1})})
                    .ok());
    return runner;
  };
  EXPECT_EQ(create(0)->Step()->loss, 15);
  // The sum of this program takes it in; the state must not.
  const auto poisoned = create('\xff');
  EXPECT_TRUE(std::isnan(*poisoned->Step()->loss));
  EXPECT_EQ((*poisoned->ReadState())[0], FloatsForTest("w", {2, 3, 4, 5, 6}));
  // Padding may differ.
  EXPECT_TRUE(poisoned->CheckOutputCopies().ok());
}

TEST_F(ShardedStepTest, TensorsAreLentAndReadInto) {
  const Module module = CounterForTest(5);
  // In one piece; in halves; cut with padding.
  const std::pair<int64_t, absl::string_view> layouts[] = {
      {5, "[-]"}, {3, "[a]"}, {2, "[(a,b)]"}};
  for (const auto& [local, text] : layouts) {
    SCOPED_TRACE(text);
    const auto runner =
        Create(module, Step(CounterForTest(local), 5, text, text, text))
            .value();
    Tensor w = FloatsForTest("w", {1, 2, 3, 4, 5});
    Tensor x = FloatsForTest("x", {10, 20, 30, 40, 50});
    std::weak_ptr<const std::string> released;
    for (Tensor* tensor : {&w, &x}) {
      const auto owner =
          std::make_shared<const std::string>(std::exchange(tensor->data, {}));
      released = owner;
      ASSERT_TRUE(runner
                      ->SetLent({.tensor = *tensor,
                                 .bytes = {reinterpret_cast<const std::byte*>(
                                               owner->data()),
                                           owner->size()},
                                 .owner = owner})
                      .ok());
    }
    // The CPU has copied it.
    EXPECT_TRUE(released.expired());
    ASSERT_TRUE(runner->Step().ok());
    std::vector<float> values(5);
    const auto read = runner->ReadInto("w", AsWritableBytes(values));
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(values, std::vector<float>({11, 22, 33, 44, 55}));
    EXPECT_EQ(
        *read,
        (Tensor{.name = "w", .type = ElementType::kF32, .dimensions = {5}}));
    std::vector<float> few(4);
    EXPECT_EQ(
        runner->ReadInto("w", AsWritableBytes(few)).status(),
        absl::InvalidArgumentError("w has 20 bytes, the memory for it 16"));
    EXPECT_EQ(runner->ReadInto("v", AsWritableBytes(few)).status().code(),
              absl::StatusCode::kNotFound);
    // What does not fit is told as of other tensors.
    Tensor six = FloatsForTest("x", {1, 2, 3, 4, 5, 6});
    EXPECT_EQ(runner->SetLent({.tensor = six}).code(),
              absl::StatusCode::kInvalidArgument);
  }
}

TEST_F(ShardedStepTest, CopiesThatDifferAreNamed) {
  const Module module = CounterForTest(4);
  // The sums of halves are taken for the sum of all.
  const Module program = CounterForTest(2);
  const auto runner = Create(module, Step(program, 4, "[a]", "[a]", "[a]"));
  ASSERT_TRUE(runner.ok()) << runner.status();
  ASSERT_TRUE((*runner)->FillSynthetic(1).ok());
  ASSERT_TRUE((*runner)->Step().ok());
  const absl::Status status = (*runner)->CheckOutputCopies();
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_EQ(status.message(), "out/1: the copy on device 1 differs");
}

TEST_F(ShardedStepTest, MistakesAreNamed) {
  const Module module = CounterForTest(4);
  const Module half = CounterForTest(2);
  const auto error = [&](const Module& program, absl::string_view w,
                         absl::string_view next) {
    return std::string(
        Create(module, Step(program, 4, w, "[a]", next)).status().message());
  };
  EXPECT_THAT(error(half, "[a]", "[b]"),
              HasSubstr("w goes in as [a] and comes out as [b]"));
  EXPECT_THAT(error(half, "[-]", "[a]"),
              HasSubstr("parameter 0: is f32[2] in the program; the shards are "
                        "f32[4]"));
  EXPECT_THAT(error(half, "[a]", "[a] +{b}"),
              HasSubstr("output 0: is a pending partial value"));
  ShardedStep too_few = Step(half, 4, "[a]", "[a]", "[a]");
  too_few.outputs.pop_back();
  EXPECT_THAT(std::string(Create(module, too_few).status().message()),
              HasSubstr("the step has 2 outputs, the program 2, with 1 "
                        "shardings"));
  ShardedStep large = Step(half, 4, "[a]", "[a]", "[a]");
  large.mesh = Mesh::Parse("a=2,b=4").value();
  EXPECT_THAT(std::string(Create(module, large).status().message()),
              HasSubstr("the step needs 8 devices, there are 4"));
  const auto runner = MakeLocalRunner(module, client_.get()).value();
  EXPECT_EQ(runner->ReadOutputs().status().code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(runner->ReadState().status().code(),
            absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace meshwright
