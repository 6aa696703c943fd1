// Test support: programs of a mesh run by one process, and by several, which
// are threads with a client and a wire each.
#ifndef MESHWRIGHT_CROSSING_CROSS_WORKERS_FOR_TEST_H_
#define MESHWRIGHT_CROSSING_CROSS_WORKERS_FOR_TEST_H_

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/crossing/cross_collectives.h"
#include "meshwright/crossing/cross_process.h"
#include "meshwright/crossing/loaded_for_test.h"
#include "meshwright/engine/cpu_plugin_for_test.h"
#include "meshwright/hlo/module.h"
#include "meshwright/hlo/verify.h"
#include "meshwright/wire/memory_wire.h"

namespace meshwright {

// One of the threads that stand for processes.
struct WorkerForTest {
  ProcessPlace place;
  Wire* wire = nullptr;
  CrossCollectives* collectives = nullptr;
  LoadedForTest* program = nullptr;
  DeviceArrays inputs;  // Of its devices.
};

// Each worker compiles its part of the program and then does `work`, all at the
// same time. The first error in the order of workers.
inline absl::Status OnWorkers(
    const Module& module, const std::vector<int>& process_of,
    const DeviceArrays& inputs,
    const std::function<absl::Status(WorkerForTest&)>& work,
    absl::Duration timeout = absl::Seconds(60)) {
  static std::atomic<int64_t> jobs = 0;
  const int64_t job = ++jobs;
  const int count = *std::ranges::max_element(process_of) + 1;
  MW_RETURN_IF_ERROR(CrossCollectives::Register(CpuPlugin()));
  const std::vector<std::unique_ptr<Wire>> wires =
      MakeMemoryWires(count, timeout);
  const auto one = [&](int process) -> absl::Status {
    WorkerForTest worker;
    worker.place = {.process_of = process_of, .process = process};
    worker.wire = wires[process].get();
    for (const int64_t device : LocalDevices(worker.place)) {
      worker.inputs.push_back(inputs[device]);
    }
    MW_ASSIGN_OR_RETURN(const Module part,
                        LowerForProcess(module, worker.place, job));
    MW_RETURN_IF_ERROR(Verify(part));
    MW_ASSIGN_OR_RETURN(const auto collectives,
                        CrossCollectives::Create(job, worker.wire));
    worker.collectives = collectives.get();
    MW_ASSIGN_OR_RETURN(
        LoadedForTest program,
        LoadedForTest::Load(part, static_cast<int>(worker.inputs.size())));
    worker.program = &program;
    MW_ASSIGN_OR_RETURN(const auto groups,
                        ProcessGroupsOf(module, worker.place));
    MW_RETURN_IF_ERROR(collectives->Connect(groups));
    return work(worker);
  };
  std::vector<absl::Status> results(count);
  std::vector<std::thread> threads;
  for (int process = 0; process < count; ++process) {
    threads.emplace_back([&, process] { results[process] = one(process); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const absl::Status& result : results) MW_RETURN_IF_ERROR(result);
  return absl::OkStatus();
}

// What all workers make of it together, `times` times in a row; equal each
// time.
inline absl::StatusOr<DeviceArrays> RunOnWorkers(
    const Module& module, const std::vector<int>& process_of,
    const DeviceArrays& inputs, int times = 1) {
  DeviceArrays outputs(inputs.size());
  MW_RETURN_IF_ERROR(OnWorkers(
      module, process_of, inputs, [&](WorkerForTest& worker) -> absl::Status {
        const std::vector<int64_t> devices = LocalDevices(worker.place);
        for (int time = 0; time < times; ++time) {
          MW_ASSIGN_OR_RETURN(DeviceArrays own,
                              worker.program->Run(worker.inputs));
          for (size_t i = 0; i < devices.size(); ++i) {
            if (time > 0 && own[i] != outputs[devices[i]]) {
              return absl::InternalError("another result the next time");
            }
            outputs[devices[i]] = std::move(own[i]);
          }
        }
        return absl::OkStatus();
      }));
  return outputs;
}

// The same by one process that has all devices, and the compiler's collectives.
inline absl::StatusOr<DeviceArrays> RunAlone(const Module& module,
                                             const DeviceArrays& inputs) {
  MW_ASSIGN_OR_RETURN(
      LoadedForTest program,
      LoadedForTest::Load(module, static_cast<int>(inputs.size())));
  return program.Run(inputs);
}

}  // namespace meshwright

#endif  // MESHWRIGHT_CROSSING_CROSS_WORKERS_FOR_TEST_H_
