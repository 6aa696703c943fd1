// Data of the next step travel while one runs.
#include <gtest/gtest.h>

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
      } else if (command->has_set() && run != 0) {
        proto::WorkerReport report;
        report.mutable_step()->set_step(first_);
        EXPECT_TRUE(link_->Send(std::move(report)).ok());
        Reply(std::exchange(run, 0));
      } else if (command->id() != 0) {
        Reply(command->id());
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
    for (int i = 0; i < 3; ++i) {
      const auto done = runner.Steps(1, [&] {
        return runner.Set({FloatsForTest("x", {5, 6})});
      });
      ASSERT_TRUE(done.ok()) << done.status();
    }
  }
  coordinator = nullptr;
}

}  // namespace
}  // namespace meshwright
