#include "meshwright/runtime/move_state.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/engine/cpu_plugin_for_test.h"
#include "meshwright/mesh/sharding_text.h"
#include "meshwright/runtime/counter_step_for_test.h"
#include "meshwright/runtime/local_runner.h"
#include "meshwright/runtime/worker_threads_for_test.h"

namespace meshwright {
namespace {

using testing::HasSubstr;

// w += x on four devices, w and x sharded alike: "[a]" or "[-]".
class MoveStateTest : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (!IsOnWorkers()) {
      client_ = CpuPlugin().CreateClient({.cpu_devices = 4}).value();
      return;
    }
    workers_.emplace();
    workers_->Add(2);
    workers_->Add(2);
  }

  bool IsOnWorkers() const { return GetParam(); }

  absl::StatusOr<std::unique_ptr<JobRunner>> Load(
      const std::string& sharding, const JobRunner* beside = nullptr) {
    const Sharding split = ParseSharding(sharding, {4}, mesh_).value();
    const bool is_split = sharding == "[a]";
    const Module& program = is_split ? split_program_ : module_;
    absl::StatusOr<JobSource> source =
        MakeJob(module_, {.program = program,
                          .mesh = mesh_,
                          .parameters = {split, split},
                          .outputs = {split, Sharding::Replicated({})}});
    if (!source.ok()) return source.status();
    if (!IsOnWorkers()) {
      return MakeLocalRunner(module_, *std::move(source), client_.get());
    }
    absl::StatusOr<std::unique_ptr<RemoteSite>> site =
        workers_->coordinator().Load(
            *std::move(source),
            beside != nullptr ? beside->remote_site() : nullptr);
    if (!site.ok()) return site.status();
    const Job* const job = &(*site)->job();
    return std::make_unique<JobRunner>(module_, job, *std::move(site));
  }

  static double LossOf(JobRunner& runner) {
    const auto step = runner.Step();
    EXPECT_TRUE(step.ok()) << step.status();
    return step.ok() ? step->loss.value_or(-1) : -1;
  }

  const Mesh mesh_ = Mesh::Parse("a=4").value();
  const Module module_ = CounterForTest(4);
  const Module split_program_ =
      CounterForTest(1, mesh_.Groups(mesh_.AllSubAxes()));
  std::unique_ptr<Client> client_;
  std::optional<WorkerThreadsForTest> workers_;
};

TEST_P(MoveStateTest, StateGoesToAndFroWithoutChange) {
  const auto first = Load("[a]");
  ASSERT_TRUE(first.ok()) << first.status();
  const auto second = Load("[a]", first->get());
  ASSERT_TRUE(second.ok()) << second.status();
  const auto other = Load("[-]", second->get());
  ASSERT_TRUE(other.ok()) << other.status();
  const SharedParameter w = {.from = 0, .to = 0};
  ASSERT_TRUE((*first)->Set({FloatsForTest("w", {1, 2, 3, 4})}).ok());
  EXPECT_TRUE((*second)->CanShare(**first, w));
  EXPECT_FALSE((*other)->CanShare(**first, w));
  double sum = 10;
  JobRunner* at = first->get();
  for (JobRunner* const to : {second->get(), other->get(), first->get()}) {
    ASSERT_TRUE(at->Set({FloatsForTest("x", {1, 0, 0, 0})}).ok());
    EXPECT_EQ(LossOf(*at), sum);
    ++sum;
    ASSERT_TRUE(MoveState(*at, *to, {{"w", "w"}}, /*drop=*/true).ok());
    EXPECT_THAT(std::string(at->Step().status().message()),
                HasSubstr("\"w\" has no value"));
    at = to;
  }
  EXPECT_EQ(LossOf(*at), sum);
}

TEST_P(MoveStateTest, WhatIsReadTwiceIsSharedAgainAfterAStep) {
  const auto train = Load("[a]");
  ASSERT_TRUE(train.ok()) << train.status();
  const auto read = Load("[a]", train->get());
  ASSERT_TRUE(read.ok()) << read.status();
  ASSERT_TRUE((*train)
                  ->Set({FloatsForTest("w", {1, 2, 3, 4}),
                         FloatsForTest("x", {1, 1, 1, 1})})
                  .ok());
  for (const double want : {10.0, 14.0}) {
    // w is data of the other job: its x.
    ASSERT_TRUE((*read)->Set({FloatsForTest("w", {0, 0, 0, 0})}).ok());
    ASSERT_TRUE(MoveState(**train, **read, {{"w", "x"}}, /*drop=*/false).ok());
    EXPECT_EQ(LossOf(**read), 0);
    EXPECT_EQ(LossOf(**read), want);  // The sum of what was added.
    EXPECT_EQ(LossOf(**train), want);
  }
}

TEST_P(MoveStateTest, MistakesAreNamed) {
  const auto from = Load("[a]");
  ASSERT_TRUE(from.ok()) << from.status();
  const auto to = Load("[a]", from->get());
  ASSERT_TRUE(to.ok()) << to.status();
  const auto moved = [&](const char* taken, const char* given) {
    return std::string(
        MoveState(**from, **to, {{taken, given}}, false).message());
  };
  EXPECT_THAT(moved("v", "w"), HasSubstr("v"));
  EXPECT_THAT(moved("w", "v"), HasSubstr("v"));
  EXPECT_THAT(moved("w", "w"), HasSubstr("\"w\" has no value"));
}

TEST_P(MoveStateTest, AJobThatNeedsOtherWorkersIsNotBeside) {
  if (!IsOnWorkers()) return;
  const auto first = Load("[a]");
  ASSERT_TRUE(first.ok()) << first.status();
  const auto alone = workers_->coordinator().Load(MakeJob(module_).value(),
                                                  (*first)->remote_site());
  EXPECT_THAT(std::string(alone.status().message()),
              HasSubstr("needs other workers"));
  // The first is still there.
  ASSERT_TRUE((*first)->FillSynthetic(1).ok());
  EXPECT_TRUE((*first)->Step().ok());
}

INSTANTIATE_TEST_SUITE_P(Places, MoveStateTest, testing::Bool(),
                         [](const auto& test) {
                           return test.param ? "Workers" : "ThisProcess";
                         });

}  // namespace
}  // namespace meshwright
