// Test support: a worker that runs nothing, and answers as a test says. It
// sends no heartbeat: the coordinator's limit of silence is to be long.
//
//   ScriptedWorkerForTest worker(coordinator, {.rank = 1},
//                                ScriptedWorkerForTest::Well);
//   ...
//   worker.Saw([](const auto& command) { return command.has_unload(); });
#ifndef MESHWRIGHT_RUNTIME_SCRIPTED_WORKER_FOR_TEST_H_
#define MESHWRIGHT_RUNTIME_SCRIPTED_WORKER_FOR_TEST_H_

#include <algorithm>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/clock.h"
#include "meshwright/runtime/coordinator.h"
#include "meshwright/runtime/memory_link.h"
#include "meshwright/wire/memory_key_value_store.h"

namespace meshwright {

class ScriptedWorkerForTest {
 public:
  using Command = proto::WorkerCommand;
  struct Options {
    int rank = 0;
    int devices = 2;
    std::string host = "";  // "scripted-0" and so on.
    int pid = 0;
    std::string platform = "cpu";
    std::string plugin = "cpu, PJRT 0.81";
  };
  // What it answers to a command; nullopt: nothing.
  using Answer = std::function<std::optional<absl::Status>(const Command&)>;

  static std::optional<absl::Status> Well(const Command&) {
    return absl::OkStatus();
  }

  ScriptedWorkerForTest(Coordinator& coordinator, const Options& options,
                        Answer answer)
      : answer_(std::move(answer)) {
    proto::Hello hello;
    hello.set_host(options.host.empty()
                       ? "scripted-" + std::to_string(options.rank)
                       : options.host);
    hello.set_pid(options.pid > 0 ? options.pid : 200 + options.rank);
    hello.set_platform(options.platform);
    hello.set_plugin(options.plugin);
    hello.set_device_kind(options.platform);
    hello.set_devices(options.devices);
    hello.set_rank(options.rank);
    MemoryLink link = MakeMemoryLink(hello, &store_);
    link_ = std::move(link.coordinator);
    thread_ = std::thread([this] { Serve(); });
    coordinator.Admit(std::move(link.worker));
    for (const auto& worker : coordinator.workers()) {
      if (worker->hello().pid() == hello.pid()) remote_ = worker;
    }
  }
  ~ScriptedWorkerForTest() { Leave(); }

  // As if it had crashed.
  void Leave() {
    if (!thread_.joinable()) return;
    Command command;
    command.mutable_shutdown();
    remote_->Post(std::move(command)).IgnoreError();
    thread_.join();
  }

  // Whether such a command comes, within a minute.
  bool Saw(const std::function<bool(const Command&)>& which) {
    const absl::Time end = absl::Now() + absl::Minutes(1);
    while (absl::Now() < end) {
      if (Count(which) > 0) return true;
      absl::SleepFor(absl::Milliseconds(5));
    }
    return false;
  }
  std::vector<Command> commands() {
    const std::lock_guard lock(mutex_);
    return commands_;
  }
  int64_t Count(const std::function<bool(const Command&)>& which) {
    const std::lock_guard lock(mutex_);
    return std::ranges::count_if(commands_, which);
  }

 private:
  void Serve() {
    while (true) {
      absl::StatusOr<Command> command = link_->Next();
      if (!command.ok() || command->has_shutdown()) break;
      proto::WorkerReport report;
      report.mutable_reply()->set_id(command->id());
      {
        const std::lock_guard lock(mutex_);
        commands_.push_back(*command);
      }
      const std::optional<absl::Status> status = answer_(*command);
      if (command->id() == 0 || !status.has_value()) continue;
      report.mutable_reply()->set_code(static_cast<int>(status->code()));
      report.mutable_reply()->set_message(std::string(status->message()));
      link_->Send(std::move(report)).IgnoreError();
    }
    link_ = nullptr;
  }

  const Answer answer_;
  MemoryKeyValueStore store_;
  std::mutex mutex_;
  std::vector<Command> commands_;  // Guarded by the mutex.
  std::unique_ptr<CoordinatorLink> link_;
  std::shared_ptr<RemoteWorker> remote_;
  std::thread thread_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_RUNTIME_SCRIPTED_WORKER_FOR_TEST_H_
