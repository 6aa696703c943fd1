#include "meshwright/service/job_server.h"

#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/base/message_for_test.h"
#include "meshwright/service/job_client.h"
#include "meshwright/service/jobs_for_test.h"
#include "meshwright/service/joined_for_test.h"
#include "meshwright/service/limits.h"
#include "meshwright/service/tensors_for_test.h"

namespace meshwright {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class CancelledCall : public JobCall {
 public:
  bool cancelled() const override { return is_cancelled; }
  std::atomic<bool> is_cancelled = false;
};

Tensor MakeTensor(std::string name, int64_t elements) {
  Tensor tensor = {.name = std::move(name),
                   .type = ElementType::kF32,
                   .dimensions = {elements}};
  tensor.data.resize(4 * elements);
  for (size_t i = 0; i < tensor.data.size(); ++i) {
    tensor.data[i] = static_cast<char>(i * 7 + i / 251);
  }
  return tensor;
}

// Stages by setting, and knows what steps took.
class StagingJobs : public JobsForTest {
 public:
  absl::Status Stage(int64_t job, int64_t batch, TensorSource& data,
                     JobCall& call) override {
    staged = batch;
    return Init(job, {}, data, call);
  }
  absl::Status Step(int64_t job, int64_t count, TensorSource& data,
                    const StepSink& done, JobCall& call) override {
    taken = data.staged();
    return JobsForTest::Step(job, count, data, done, call);
  }
  std::atomic<int64_t> staged = 0;
  std::atomic<int64_t> taken = 0;
};

class JobServerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto server = JobServer::Start(
        {.jobs = &jobs_, .max_upload_bytes = int64_t{64} << 20});
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    auto client = ConnectJobs({.address = address()});
    ASSERT_TRUE(client.ok()) << client.status();
    client_ = *std::move(client);
  }
  std::string address() const {
    return absl::StrCat("127.0.0.1:", server_->port());
  }
  int64_t LoadJob() { return client_->Load("module", "{}", call_).value(); }
  absl::StatusOr<std::vector<Tensor>> FetchAll(
      int64_t job, std::vector<Wanted> wanted = {}) {
    std::vector<Tensor> tensors;
    MW_RETURN_IF_ERROR(client_->Fetch(
        job, std::move(wanted),
        [&](Tensor tensor) {
          tensors.push_back(std::move(tensor));
          return absl::OkStatus();
        },
        call_));
    return tensors;
  }

  StagingJobs jobs_;
  JobCall call_;
  TensorsForTest none_;
  std::unique_ptr<JobServer> server_;
  std::unique_ptr<JobService> client_;
};

TEST_F(JobServerTest, Plans) {
  EXPECT_EQ(*client_->Plan({"m", "cpu:8", "{}"}, call_),
            "{\"plan\": \"m|cpu:8|{}\"}");
  // In parts, both ways.
  const std::string module(5 * kPartBytes + 3, 'm');
  EXPECT_EQ(*client_->Plan({module, "c", "o"}, call_),
            "{\"plan\": \"" + module + "|c|o\"}");
}

TEST_F(JobServerTest, ErrorsArriveAsTheyWere) {
  const std::string text = "bad\n\x01 caf\xc3\xa9 \xff %41";
  const absl::Status status = client_->Plan({.module = text}, call_).status();
  EXPECT_EQ(status, absl::InvalidArgumentError(text));
  const absl::Status longer =
      client_->Plan({.module = "bad" + std::string(1 << 20, '\xff')}, call_)
          .status();
  EXPECT_EQ(longer.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(MessageOf(longer), StartsWith("bad\xff"));
  EXPECT_LT(longer.message().size(), 20000);
  EXPECT_EQ(MessageOf(client_->Plan({}, call_).status()), "no module came");
  EXPECT_EQ(client_->Stop(77), absl::NotFoundError("there is no job 77"));
}

TEST_F(JobServerTest, RunsAJob) {
  const int64_t job = LoadJob();
  EXPECT_EQ(*client_->Describe(call_), "{\"jobs\": 1}");
  const std::vector<Tensor> state = {
      MakeTensor("a", 3), MakeTensor("empty", 0),
      MakeTensor("large", 5 * kPartBytes / 4 + 1),
      MakeTensor("exact", kPartBytes / 4)};
  TensorsForTest tensors(state);
  ASSERT_TRUE(client_->Init(job, {}, tensors, call_).ok());
  EXPECT_THAT(FetchAll(job, {"large", "a"}).value(),
              ElementsAre(state[2], state[0]));
  EXPECT_THAT(FetchAll(job).value(),
              ElementsAre(state[0], state[1], state[3], state[2]));
  EXPECT_EQ(FetchAll(job, {"b"}).status(), absl::NotFoundError("no tensor b"));

  std::vector<JobStep> steps;
  const auto on_step = [&](const JobStep& step) {
    steps.push_back(step);
    return absl::OkStatus();
  };
  TensorsForTest data({MakeTensor("batch", 10)});
  ASSERT_TRUE(client_->Step(job, 3, data, on_step, call_).ok());
  EXPECT_THAT(steps, ElementsAre(JobStep{0, 0.5, 1.0}, JobStep{1, 0.5},
                                 JobStep{2, 0.5, 1.0 / 3}));
  EXPECT_THAT(FetchAll(job, {"batch"}).value(),
              ElementsAre(MakeTensor("batch", 10)));
  EXPECT_TRUE(client_->Stop(job).ok());
  EXPECT_EQ(client_->Step(job, 1, none_, on_step, call_).code(),
            absl::StatusCode::kNotFound);
}

TEST_F(JobServerTest, FeedsAJob) {
  const int64_t job = LoadJob();
  ASSERT_TRUE(client_->Feed(job, "{}", 40, call_).ok());
  std::vector<JobStep> steps;
  const auto on_step = [&](const JobStep& step) {
    steps.push_back(step);
    return absl::OkStatus();
  };
  ASSERT_TRUE(client_->Step(job, 2, none_, on_step, call_).ok());
  EXPECT_THAT(steps, ElementsAre(JobStep{0, 0.5, 1.0, 41},
                                 JobStep{1, 0.5, std::nullopt, 42}));
  EXPECT_EQ(client_->Feed(job, "\xff", 0, call_).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(client_->Feed(77, "{}", 0, call_),
            absl::NotFoundError("there is no job 77"));
}

TEST_F(JobServerTest, StagesDataForSteps) {
  const int64_t job = LoadJob();
  const Tensor x = {"x", ElementType::kU8, {3}, "abc"};
  TensorsForTest data({x});
  ASSERT_EQ(client_->Stage(job, 7, data, call_), absl::OkStatus());
  EXPECT_EQ(jobs_.staged, 7);
  EXPECT_THAT(FetchAll(job).value(), ElementsAre(x));
  TensorsForTest staged({}, 7);
  ASSERT_TRUE(client_
                  ->Step(
                      job, 1, staged,
                      [](const JobStep&) { return absl::OkStatus(); }, call_)
                  .ok());
  EXPECT_EQ(jobs_.taken, 7);
  EXPECT_EQ(client_->Stage(77, 1, data, call_),
            absl::NotFoundError("there is no job 77"));
}

TEST_F(JobServerTest, MakesState) {
  const int64_t job = LoadJob();
  ASSERT_TRUE(
      client_->Init(job, {.from = InitFrom::kSeed, .seed = 65}, none_, call_)
          .ok());
  EXPECT_EQ(FetchAll(job)->at(0).data, "A");
  TensorsForTest keys({MakeTensor("key", 2)});
  ASSERT_TRUE(client_
                  ->Init(job,
                         {.from = InitFrom::kModule,
                          .module = std::string(3 * kPartBytes, 'M')},
                         keys, call_)
                  .ok());
  EXPECT_EQ(FetchAll(job, {"made"})->at(0).data, "M");
  EXPECT_EQ(FetchAll(job, {"key"})->at(0), MakeTensor("key", 2));
  EXPECT_EQ(
      client_->Init(job, {.from = InitFrom::kModule}, none_, call_).code(),
      absl::StatusCode::kInvalidArgument);
}

TEST_F(JobServerTest, SavesAndRestores) {
  const int64_t job = LoadJob();
  const SaveOptions options{.directory = "/d",
                            .step = 12,
                            .keep_last = 3,
                            .extra = R"({"a": 1})",
                            .in_background = true};
  ASSERT_TRUE(client_->Save(job, options, call_).ok());
  EXPECT_EQ(client_->AwaitSaved(job, call_),
            absl::ResourceExhaustedError("the disk is full"));
  const auto restored = client_->Restore(job, "/d/step_00000012", call_);
  ASSERT_TRUE(restored.ok()) << restored.status();
  EXPECT_EQ(restored->folder, "/d/step_00000012");
  EXPECT_EQ(restored->step, 7);
  EXPECT_EQ(restored->extra, R"(/d|12|3|{"a": 1}|1)");
  EXPECT_EQ(client_->Save(99, options, call_).code(),
            absl::StatusCode::kNotFound);
  EXPECT_EQ(client_->Restore(job, "\xff", call_).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(JobServerTest, UploadsAreBounded) {
  const std::string large(int64_t{65} << 20, 'm');
  EXPECT_EQ(client_->Plan({.module = large}, call_).status().code(),
            absl::StatusCode::kResourceExhausted);
  const int64_t job = LoadJob();
  TensorsForTest tensor({MakeTensor("x", int64_t{17} << 20)});
  const absl::Status status = client_->Init(job, {}, tensor, call_);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(MessageOf(status), HasSubstr("67108864 bytes"));
  // What is held counts, not what passes.
  TensorsForTest three({MakeTensor("x", 10 << 20), MakeTensor("y", 10 << 20),
                        MakeTensor("x", 10 << 20)});
  EXPECT_TRUE(client_->Init(job, {}, three, call_).ok());
}

TEST_F(JobServerTest, CallsCanBeCancelled) {
  const int64_t job = LoadJob();
  CancelledCall call;
  std::thread cancel([&] {
    absl::SleepFor(absl::Milliseconds(200));
    call.is_cancelled = true;
  });
  EXPECT_EQ(client_->Plan({.module = "slow"}, call).status().code(),
            absl::StatusCode::kCancelled);
  cancel.join();
  // An error of the receiver ends the call with it.
  int lines = 0;
  const auto three_lines = [&](const std::string&) {
    return ++lines < 3 ? absl::OkStatus() : absl::OutOfRangeError("enough");
  };
  EXPECT_EQ(client_->Watch(job, three_lines, call_),
            absl::OutOfRangeError("enough"));
  EXPECT_EQ(lines, 3);
  int steps = 0;
  const auto two_steps = [&](const JobStep&) {
    return ++steps < 2 ? absl::OkStatus() : absl::AbortedError("enough");
  };
  EXPECT_EQ(client_->Step(job, 1 << 30, none_, two_steps, call_),
            absl::AbortedError("enough"));
  for (int i = 0; i < 500 && jobs_.cancelled < 2; ++i) {
    absl::SleepFor(absl::Milliseconds(10));
  }
  EXPECT_GE(jobs_.cancelled, 2);
}

TEST_F(JobServerTest, WatchEndsWithTheServer) {
  absl::Status status;
  std::thread watch([&] {
    status = client_->Watch(
        0, [](const std::string&) { return absl::OkStatus(); }, call_);
  });
  absl::SleepFor(absl::Milliseconds(100));
  server_.reset();
  watch.join();
  EXPECT_FALSE(status.ok());
}

TEST_F(JobServerTest, OnlyTheRightTokenOpens) {
  auto server = JobServer::Start({.security = {.token = "t"}, .jobs = &jobs_});
  ASSERT_TRUE(server.ok()) << server.status();
  const std::string at = absl::StrCat("127.0.0.1:", (*server)->port());
  EXPECT_EQ(ConnectJobs({.address = at}).status().code(),
            absl::StatusCode::kUnauthenticated);
  EXPECT_EQ(
      ConnectJobs({.address = at, .security = {.token = "T"}}).status().code(),
      absl::StatusCode::kUnauthenticated);
  EXPECT_TRUE(ConnectJobs({.address = at, .security = {.token = "t"}}).ok());
}

TEST_F(JobServerTest, SharesAPortWithWorkers) {
  CoordinatorForTest coordinator({.jobs = &jobs_});
  ASSERT_TRUE(coordinator.status.ok()) << coordinator.status;
  auto worker = coordinator.Join();
  EXPECT_TRUE(worker.ok()) << worker.status();
  auto client = ConnectJobs({.address = coordinator.address()});
  ASSERT_TRUE(client.ok()) << client.status();
  EXPECT_EQ(*(*client)->Describe(call_), "{\"jobs\": 0}");
  // Where there are only clients, workers are told.
  EXPECT_THAT(MessageOf(JoinCoordinator({.address = address()}).status()),
              HasSubstr("is no Meshwright coordinator, or an old one"));
}

}  // namespace
}  // namespace meshwright
