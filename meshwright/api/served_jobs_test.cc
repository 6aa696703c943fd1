// Clients of a coordinator with real workers: threads, on virtual devices.
#include "meshwright/api/served_jobs.h"

#include <atomic>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/api/call_for_test.h"
#include "meshwright/api/served_jobs_for_test.h"
#include "meshwright/data/dataset_files_for_test.h"
#include "meshwright/service/jobs_for_test.h"
#include "meshwright/service/tensors_for_test.h"
#include "meshwright/state/archive_for_test.h"

namespace meshwright {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using Json = nlohmann::json;

TEST_F(ServedJobsTest, WorkersReadADataset) {
  const DatasetFilesForTest files;
  std::string data;
  for (int row = 0; row < 40; ++row) {
    data += Filled("", {8}, 0.01f * static_cast<float>(row)).data;
  }
  const std::string path =
      files.Write("x.npy", Npy("{'descr': '<f4', 'fortran_order': False, "
                               "'shape': (40, 8), }\n",
                               data));
  const auto dataset = [](const std::string& file) {
    return absl::StrCat(R"({"kind": "npz", "files": [")", file,
                        R"("], "parameters": {"x": ""}})");
  };
  const std::string plan = PlanFor("cpu:4", R"({"strategy": "dp"})");
  int64_t job = Loaded(plan);
  std::vector<JobStep> want;
  for (int step = 0; step < 3; ++step) {
    Tensor x = Filled("x", {16, 8}, 0);
    for (int row = 0; row < 16; ++row) {
      x.data.replace(row * 32, 32, data, (16 * step + row) % 40 * 32, 32);
    }
    ASSERT_EQ(Step(job, 1, &want, {x}), absl::OkStatus());
  }
  ASSERT_EQ(jobs_->Stop(job), absl::OkStatus());
  job = Loaded(plan);
  const absl::Status gone = jobs_->Feed(job, dataset("gone.npy"), 0, call_);
  EXPECT_EQ(gone.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(gone.message()), HasSubstr("gone.npy: No such"));
  // The job lives on.
  ASSERT_EQ(jobs_->Feed(job, dataset(path), 0, call_), absl::OkStatus());
  std::vector<JobStep> got;
  EXPECT_EQ(Step(job, 1, &got, {Filled("x", {16, 8}, 0)}).code(),
            absl::StatusCode::kInvalidArgument);
  ASSERT_EQ(Step(job, 3, &got), absl::OkStatus());
  ASSERT_EQ(got.size(), 3u);
  for (int step = 0; step < 3; ++step) {
    EXPECT_FLOAT_EQ(*got[step].loss, *want[step].loss);
    EXPECT_EQ(got[step].position, 16 * (step + 1));
  }
}

TEST_F(ServedJobsTest, PlansLoadsAndTrains) {
  for (const char* options : {"{}", R"({"mesh": {"data": 4}})"}) {
    const int64_t job = Loaded(PlanFor("cpu:4", options));
    std::vector<JobStep> steps;
    ASSERT_EQ(Step(job, 3, &steps), absl::OkStatus());
    ASSERT_EQ(steps.size(), 3);
    // x w is 8 everywhere; each step takes 0.01 * 16 * 8 of it.
    EXPECT_NEAR(*steps[0].loss, 64, 1e-3);
    EXPECT_NEAR(*steps[1].loss, 64 * (1 - 1.28) * (1 - 1.28), 1e-3);
    EXPECT_EQ(steps[2].step, 2);
    EXPECT_GT(steps[2].seconds, 0);
    const auto state = Fetch(job, {});
    ASSERT_EQ(state.status(), absl::OkStatus());
    ASSERT_EQ(state->size(), 1);
    EXPECT_EQ((*state)[0].name, "w");
    EXPECT_NEAR(FirstOf((*state)[0]), -0.28f * 0.28f * 0.28f, 1e-5);
    const auto loss = Fetch(job, {"out/1", "w"});
    ASSERT_EQ(loss.status(), absl::OkStatus());
    EXPECT_NEAR(FirstOf((*loss)[0]), *steps[2].loss, 1e-6);
    EXPECT_EQ(jobs_->Stop(job), absl::OkStatus());
  }
}

TEST_F(ServedJobsTest, StepsAndFetchesInOneCall) {
  const int64_t job = Loaded(PlanFor("cpu:2"));
  for (const int64_t count : {0, 1, 70}) {  // Of which 64 go together.
    SCOPED_TRACE(count);
    TensorSource none;
    int64_t steps = 0;
    std::vector<Tensor> tensors;
    const auto owner = std::make_shared<std::vector<float>>(32);
    ASSERT_EQ(jobs_->StepAndFetch(
                  job, count, none,
                  [&](const JobStep&) {
                    ++steps;
                    return absl::OkStatus();
                  },
                  {"w", Wanted("w", AsWritableBytes(*owner), owner)},
                  [&](Tensor tensor) {
                    EXPECT_EQ(steps, count);
                    tensors.push_back(std::move(tensor));
                    return absl::OkStatus();
                  },
                  call_),
              absl::OkStatus());
    ASSERT_EQ(tensors.size(), 2u);
    EXPECT_EQ(tensors[0], Fetch(job, {"w"})->at(0));
    EXPECT_EQ(tensors[1].dimensions, tensors[0].dimensions);
    EXPECT_EQ(tensors[1].data, "");
    EXPECT_EQ(owner->front(), FirstOf(tensors[0]));
  }
  std::vector<JobStep> steps;
  const absl::Status unknown = jobs_->StepAndFetch(
      job, 2, *std::make_unique<TensorSource>(),
      [&](const JobStep& step) {
        steps.push_back(step);
        return absl::OkStatus();
      },
      {"nobody"}, nullptr, call_);
  EXPECT_EQ(unknown.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(steps.size(), 2u);  // They have run.
}

TEST_F(ServedJobsTest, DataOfACallAreThoseOfItsSteps) {
  const int64_t job = Loaded(PlanFor("cpu:2"));
  std::vector<JobStep> steps;
  ASSERT_EQ(Step(job, 1, &steps, {Filled("x", {16, 8}, 0)}), absl::OkStatus());
  ASSERT_EQ(Step(job, 2, &steps), absl::OkStatus());  // Still 0.
  EXPECT_EQ(*steps[0].loss, 0);
  EXPECT_EQ(*steps[2].loss, 0);
  ASSERT_EQ(Step(job, 1, &steps, {Filled("x", {16, 8}, 1)}), absl::OkStatus());
  EXPECT_NEAR(*steps[3].loss, 64, 1e-3);
  EXPECT_EQ(Step(job, 1, &steps, {Filled("z", {16, 8}, 1)}).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Step(job, 1, &steps, {Filled("x", {16, 9}, 1)}).code(),
            absl::StatusCode::kInvalidArgument);
  ASSERT_EQ(Step(job, 1, &steps), absl::OkStatus());  // No harm was done.
}

TEST_F(ServedJobsTest, SeedsGiveValuesToAll) {
  const int64_t job = jobs_->Load(kStep, PlanFor("cpu:2"), call_).value();
  std::vector<JobStep> steps;
  const absl::Status empty = Step(job, 1, &steps);
  EXPECT_EQ(empty.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(empty.message(), HasSubstr("has no value"));
  TensorSource none;
  ASSERT_EQ(jobs_->Init(job, {.from = InitFrom::kSeed, .seed = 3}, none, call_),
            absl::OkStatus());
  EXPECT_EQ(Step(job, 1, &steps), absl::OkStatus());
}

TEST_F(ServedJobsTest, ModulesMakeTheState) {
  const int64_t job = Loaded(PlanFor("cpu:2"));
  const auto init = [&](const std::string& module) {
    TensorSource none;
    return jobs_->Init(job, {.from = InitFrom::kModule, .module = module}, none,
                       call_);
  };
  // Its outputs have the names of the state.
  EXPECT_EQ(init(kStep), absl::OkStatus());
  std::vector<JobStep> steps;
  EXPECT_EQ(Step(job, 1, &steps), absl::OkStatus());
  EXPECT_THAT(init("HloModule other\nENTRY e {\n"
                   "  ROOT c = f32[3] constant({1, 2, 3})\n}\n")
                  .message(),
              HasSubstr("output 0 is f32[3]"));
  EXPECT_EQ(Step(job, 1, &steps), absl::OkStatus());  // No harm was done.
}

TEST_F(ServedJobsTest, OneJobAtATime) {
  const std::string plan = PlanFor("cpu:2");
  const int64_t job = Loaded(plan);
  const auto second = jobs_->Load(kStep, plan, call_);
  EXPECT_EQ(second.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(second.status().message(),
              HasSubstr(absl::StrCat("job ", job, " (fit) is loaded")));
  ASSERT_EQ(jobs_->Stop(job), absl::OkStatus());
  EXPECT_THAT(jobs_->Stop(job).message(), HasSubstr("was stopped"));
  EXPECT_GT(Loaded(plan), job);
}

TEST_F(ServedJobsTest, MistakesAreNamed) {
  const auto plan = [&](const std::string& cluster, const std::string& options,
                        const std::string& module = kStep) {
    return std::string(
        jobs_->Plan({module, cluster, options}, call_).status().message());
  };
  EXPECT_THAT(plan("cpu:2", R"({"stags": 2})"),
              HasSubstr("unknown option stags; did you mean stages?"));
  EXPECT_THAT(plan("cpu:2", R"({"database": "/etc/passwd"})"),
              HasSubstr("option database names a file"));
  EXPECT_THAT(plan("cpu:2", R"({"pin": "/etc/passwd"})"),
              HasSubstr("reads no files"));
  EXPECT_THAT(plan("cpu:2", R"({"time-limit": 1e9})"),
              HasSubstr("at most 600"));
  EXPECT_THAT(plan("cpu:2", "["), HasSubstr("no JSON object"));
  EXPECT_THAT(plan("/etc/passwd", "{}"), HasSubstr("cluster"));
  EXPECT_THAT(plan("", "{}"), HasSubstr("without --cluster"));
  EXPECT_THAT(plan("cpu:2", "{}", "HloModule"), HasSubstr("module: "));
  EXPECT_THAT(jobs_->Load("no module", "{}", call_).status().message(),
              HasSubstr("module: "));
  EXPECT_THAT(jobs_->Load(kStep, "{}", call_).status().message(),
              HasSubstr("plan: "));
  std::vector<JobStep> steps;
  EXPECT_THAT(Step(77, 1, &steps).message(), HasSubstr("there is no job 77"));
  const int64_t job = Loaded(PlanFor("cpu:2"));
  EXPECT_EQ(Fetch(job, {"v"}).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(Step(job, 1, &steps), absl::OkStatus());
}

TEST_F(ServedJobsTest, LoadingWaitsForDevices) {
  const std::string plan = PlanFor("cpu:8");
  const auto job = jobs_->Load(kStep, plan, call_);
  EXPECT_EQ(job.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(job.status().message(),
              HasSubstr("the plan is for 8 devices; 2 workers with 4 devices"));
  workers_.Add(4);
  EXPECT_GT(Loaded(plan), 0);
}

TEST_F(ServedJobsTest, ALostWorkerIsTheEndOfItsJob) {
  const int64_t job = Loaded(PlanFor("cpu:4", R"({"mesh": {"data": 4}})"));
  std::vector<JobStep> steps;
  ASSERT_EQ(Step(job, 2, &steps), absl::OkStatus());
  workers_.End(1);
  const absl::Status lost = Step(job, 1, &steps);
  EXPECT_EQ(lost.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(lost.message(), AllOf(HasSubstr("worker 1 (pid 101 on host-1)"),
                                    HasSubstr("all workers completed step 1")));
  const absl::Status again = Step(job, 1, &steps);
  EXPECT_EQ(again.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(again.message(), HasSubstr("has failed: worker 1"));
  EXPECT_EQ(Fetch(job, {}).status().code(), absl::StatusCode::kUnavailable);
  const Json described = Described();
  EXPECT_EQ(described["workers"][1]["state"], "lost");
  EXPECT_EQ(described["jobs"][0]["state"], "failed");
  EXPECT_EQ(described["jobs"][0]["steps"], 2);
  ASSERT_EQ(jobs_->Stop(job), absl::OkStatus());
  // The other one works on.
  const int64_t next = Loaded(PlanFor("cpu:2"));
  EXPECT_EQ(Step(next, 2, &steps), absl::OkStatus());
  EXPECT_EQ(Described()["workers"].size(), 1);
}

TEST_F(ServedJobsTest, WatchersSeeEveryStepUntilTheJobEnds) {
  const int64_t job = Loaded(PlanFor("cpu:4"));
  std::vector<std::string> lines[2];
  absl::Status ends[2];
  std::atomic<int> begun = 0;
  std::vector<std::thread> watchers;
  CallForTest calls[2];
  for (int i = 0; i < 2; ++i) {
    watchers.emplace_back([&, i] {
      ++begun;
      ends[i] = jobs_->Watch(
          i == 0 ? job : 0,
          [&, i](const std::string& line) {
            lines[i].push_back(line);
            return absl::OkStatus();
          },
          calls[i]);
    });
  }
  while (begun < 2) absl::SleepFor(absl::Milliseconds(5));
  absl::SleepFor(absl::Milliseconds(100));
  std::vector<JobStep> steps;
  ASSERT_EQ(Step(job, 100, &steps), absl::OkStatus());
  ASSERT_EQ(jobs_->Stop(job), absl::OkStatus());
  watchers[0].join();
  EXPECT_EQ(ends[0], absl::OkStatus());
  calls[1].is_cancelled = true;  // It watches all jobs, for ever.
  watchers[1].join();
  EXPECT_EQ(ends[1].code(), absl::StatusCode::kCancelled);
  for (const auto& own : lines) {
    ASSERT_EQ(own.size(), 100);
    const Json last = Json::parse(own.back());
    EXPECT_EQ(last["job"], job);
    EXPECT_EQ(last["step"], 99);
    EXPECT_GT(last["samples_per_second"], 0);
    EXPECT_GT(last["mfu"], 0);
    EXPECT_TRUE(last["bubble"].is_null());
  }
  EXPECT_EQ(jobs_->Watch(job, nullptr, call_).code(),
            absl::StatusCode::kNotFound);
}

TEST_F(ServedJobsTest, CallsThatAreGivenUpEndSoon) {
  const int64_t job = Loaded(PlanFor("cpu:4"));
  CallForTest call;
  absl::Status end;
  std::atomic<int64_t> seen = 0;
  std::thread caller([&] {
    TensorSource none;
    end = jobs_->Step(
        job, 1'000'000'000, none,
        [&](const JobStep&) {
          ++seen;
          return absl::OkStatus();
        },
        call);
  });
  while (seen < 10) absl::SleepFor(absl::Milliseconds(5));
  // Others wait for their turn, or leave.
  CallForTest waiting;
  waiting.is_cancelled = true;
  EXPECT_EQ(jobs_->Fetch(job, {}, nullptr, waiting).code(),
            absl::StatusCode::kCancelled);
  const absl::Time cancelled = absl::Now();
  call.is_cancelled = true;
  caller.join();
  EXPECT_EQ(end.code(), absl::StatusCode::kCancelled);
  EXPECT_LT(absl::Now() - cancelled, absl::Seconds(20));
  std::vector<JobStep> steps;
  ASSERT_EQ(Step(job, 1, &steps), absl::OkStatus());
  EXPECT_GE(steps[0].step, seen);
}

TEST_F(ServedJobsTest, StoppingEndsStepsThatAreUnderWay) {
  const std::string plan = PlanFor("cpu:4");
  const int64_t job = Loaded(plan);
  absl::Status end;
  std::atomic<int64_t> seen = 0;
  std::thread caller([&] {
    TensorSource none;
    end = jobs_->Step(
        job, 1'000'000'000, none,
        [&](const JobStep&) {
          ++seen;
          return absl::OkStatus();
        },
        call_);
  });
  while (seen < 10) absl::SleepFor(absl::Milliseconds(5));
  ASSERT_EQ(jobs_->Stop(job), absl::OkStatus());
  caller.join();
  EXPECT_EQ(end.code(), absl::StatusCode::kNotFound) << end;
  // What the workers had still to say does not confuse the next one.
  const int64_t next = Loaded(plan);
  std::vector<JobStep> steps;
  ASSERT_EQ(Step(next, 20, &steps), absl::OkStatus());
  EXPECT_EQ(steps.size(), 20);
  EXPECT_EQ(steps[0].step, 0);
}

TEST_F(ServedJobsTest, DescribesItselfAndItsMetrics) {
  EXPECT_THAT(jobs_->MetricsText(), HasSubstr("meshwright_workers 2\n"));
  const int64_t job = Loaded(PlanFor("cpu:4"));
  std::vector<JobStep> steps;
  ASSERT_EQ(Step(job, 5, &steps), absl::OkStatus());
  const Json json = Described();
  EXPECT_EQ(json["workers"].size(), 2);
  EXPECT_EQ(json["workers"][0]["name"], "worker 0 (pid 100 on host-0)");
  EXPECT_EQ(json["workers"][0]["devices"], 2);
  EXPECT_EQ(json["workers"][0]["state"], "ready");
  EXPECT_EQ(json["jobs"][0]["module"], "fit");
  EXPECT_EQ(json["jobs"][0]["state"], "ready");
  EXPECT_EQ(json["jobs"][0]["steps"], 5);
  EXPECT_EQ(json["jobs"][0]["loss"], *steps.back().loss);
  const std::string text = jobs_->MetricsText();
  EXPECT_THAT(text, HasSubstr("# TYPE meshwright_steps_total counter\n"
                              "meshwright_steps_total{job=\"1\"} 5\n"));
  EXPECT_THAT(text, HasSubstr("meshwright_loss{job=\"1\"} "));
  ASSERT_EQ(jobs_->Stop(job), absl::OkStatus());
  EXPECT_THAT(jobs_->MetricsText(), Not(HasSubstr("meshwright_loss")));
  EXPECT_TRUE(Described()["jobs"].empty());
}

TEST_F(ServedJobsTest, NothingWorksAfterTheEnd) {
  const int64_t job = Loaded(PlanFor("cpu:4"));
  jobs_->Shutdown();
  std::vector<JobStep> steps;
  EXPECT_EQ(Step(job, 1, &steps).code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(jobs_->Load(kStep, "{}", call_).status().code(),
            absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace meshwright
