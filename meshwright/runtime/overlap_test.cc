// Data of the next step travel while one runs.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <thread>
#include <utility>

#include "meshwright/runtime/coordinator.h"
#include "meshwright/runtime/counter_step_for_test.h"
#include "meshwright/runtime/job_runner.h"
#include "meshwright/runtime/memory_link.h"

namespace meshwright {
namespace {

// A worker that ends a step only when it has the data of the next one. Whoever
// sends those after the step waits for ever.
class EagerWorker {
 public:
  explicit EagerWorker(Coordinator& coordinator) {
    proto::Hello hello;
    hello.set_platform("cpu");
    hello.set_devices(1);
    MemoryLink link = MakeMemoryLink(hello, nullptr);
    link_ = std::move(link.coordinator);
    coordinator.Admit(std::move(link.worker));
    thread_ = std::thread([this] { Work(); });
  }
  ~EagerWorker() { thread_.join(); }

 private:
  void Work() {
    uint64_t run = 0;  // The step that is under way.
    while (true) {
      const auto command = link_->Next();
      if (!command.ok() || command->has_shutdown()) return;
      if (command->has_run()) {
        run = command->id();
        first_ = command->run().first();
      } else if (command->has_set()) {
        staged_ = std::max(staged_, command->set().batch());
      } else if (command->id() != 0) {
        Reply(command->id());
      }
      if (run != 0 && staged_ > first_) {
        proto::WorkerReport report;
        report.mutable_step()->set_step(first_);
        EXPECT_TRUE(link_->Send(std::move(report)).ok());
        Reply(std::exchange(run, 0));
      }
    }
  }
  void Reply(uint64_t id) {
    proto::WorkerReport report;
    report.mutable_reply()->set_id(id);
    EXPECT_TRUE(link_->Send(std::move(report)).ok());
  }

  std::unique_ptr<CoordinatorLink> link_;
  int64_t first_ = 0;
  int64_t staged_ = 0;  // The last batch that came.
  std::thread thread_;
};

TEST(OverlapTest, DataOfTheNextStepComeDuringThisOne) {
  // Not long, should it wait.
  auto coordinator = std::make_unique<Coordinator>(Coordinator::Options{
      .limits = {.silence = absl::Seconds(60), .step = absl::Seconds(30)}});
  EagerWorker worker(*coordinator);
  const Module module = CounterForTest(2);
  auto site = coordinator->Load(MakeJob(module).value()).value();
  const Job* const job = &site->job();
  {
    JobRunner runner(module, job, std::move(site));
    ASSERT_TRUE(
        runner.Set({FloatsForTest("w", {1, 2}), FloatsForTest("x", {3, 4})})
            .ok());
    for (int64_t i = 0; i < 3; ++i) {
      if (i > 0) ASSERT_TRUE(runner.TakeStaged(i).ok());
      std::thread source([&] {
        const absl::Status staged =
            runner.Stage(i + 1, {.tensor = FloatsForTest("x", {5, 6})});
        EXPECT_TRUE(staged.ok()) << staged;
      });
      const auto done = runner.Steps(1);
      source.join();
      ASSERT_TRUE(done.ok()) << done.status();
    }
  }
  coordinator = nullptr;
}

}  // namespace
}  // namespace meshwright
