// Test support: a coordinator with workers that are threads of this process, on
// virtual devices of the CPU.
//
//   WorkerThreadsForTest workers;
//   workers.Add(/*devices=*/2);
//   workers.coordinator().Load(...);
#ifndef MESHWRIGHT_RUNTIME_WORKER_THREADS_FOR_TEST_H_
#define MESHWRIGHT_RUNTIME_WORKER_THREADS_FOR_TEST_H_

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "meshwright/engine/cpu_plugin_for_test.h"
#include "meshwright/engine/plugin.h"
#include "meshwright/runtime/coordinator.h"
#include "meshwright/runtime/memory_link.h"
#include "meshwright/runtime/worker.h"
#include "meshwright/runtime/worker_engine.h"
#include "meshwright/wire/memory_key_value_store.h"
#include "meshwright/wire/memory_wire.h"

namespace meshwright {

class WorkerThreadsForTest {
 public:
  explicit WorkerThreadsForTest(WorkerWatch::Limits limits = {})
      : coordinator_(std::make_unique<Coordinator>(
            Coordinator::Options{.limits = limits})) {}

  // Requires: nothing uses the coordinator any more.
  ~WorkerThreadsForTest() {
    coordinator_ = nullptr;
    for (const auto& one : workers_) {
      if (one->thread.joinable()) one->thread.join();
    }
  }

  Coordinator& coordinator() { return *coordinator_; }

  void Add(int devices) {
    auto one = std::make_unique<One>();
    const auto open = [devices](const std::optional<ProcessTeam>& team) {
      return CpuPlugin().CreateClient({.cpu_devices = devices, .team = team});
    };
    one->engine =
        std::make_unique<WorkerEngine>(open, open(std::nullopt).value());
    const Client& client = *one->engine->client();
    proto::Hello hello;
    hello.set_host("host-" + std::to_string(workers_.size()));
    hello.set_pid(100 + static_cast<int>(workers_.size()));
    hello.set_platform(client.platform_name());
    hello.set_device_kind(client.devices()[0]->kind());
    hello.set_devices(devices);
    hello.set_rank(static_cast<int>(workers_.size()));
    MemoryLink link = MakeMemoryLink(hello, &store_);
    one->link = std::move(link.coordinator);
    one->thread = std::thread([this, one = one.get()] {
      Worker(
          one->link.get(),
          {.engine = one->engine.get(),
           .plugin = &CpuPlugin(),
           .connect = [this](const JobSpec& spec, int member,
                             KeyValueStore*) { return Connect(spec, member); },
           .heartbeat = absl::Milliseconds(100)})
          .Serve()
          .IgnoreError();
      one->link = nullptr;
    });
    coordinator_->Admit(std::move(link.worker));
    workers_.push_back(std::move(one));
  }

  // As if it had crashed between steps.
  void End(int rank) {
    for (const auto& worker : coordinator_->workers()) {
      if (worker->hello().rank() != rank) continue;
      proto::WorkerCommand command;
      command.mutable_shutdown();
      EXPECT_TRUE(worker->Post(std::move(command)).ok());
    }
    workers_[rank]->thread.join();
  }

 private:
  struct One {
    std::unique_ptr<WorkerEngine> engine;
    std::unique_ptr<CoordinatorLink> link;
    std::thread thread;
  };

  absl::StatusOr<std::unique_ptr<Wire>> Connect(const JobSpec& spec,
                                                int member) {
    const std::lock_guard lock(mutex_);
    auto& wires = wires_[spec.id];
    if (wires.empty()) {
      wires = MakeMemoryWires(spec.job.workers(), spec.wire_timeout);
    }
    return std::move(wires[member]);
  }

  MemoryKeyValueStore store_;
  std::mutex mutex_;
  std::map<int64_t, std::vector<std::unique_ptr<Wire>>> wires_;  // By job.
  std::unique_ptr<Coordinator> coordinator_;
  std::vector<std::unique_ptr<One>> workers_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_RUNTIME_WORKER_THREADS_FOR_TEST_H_
