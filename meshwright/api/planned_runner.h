// Runs the steps of a module on several devices, as planned.
#ifndef MESHWRIGHT_API_PLANNED_RUNNER_H_
#define MESHWRIGHT_API_PLANNED_RUNNER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <variant>

#include "absl/status/statusor.h"
#include "meshwright/engine/client.h"
#include "meshwright/hlo/module.h"
#include "meshwright/partition/partition.h"
#include "meshwright/plan/plan.h"
#include "meshwright/planner/planner.h"
#include "meshwright/runtime/compile_cache.h"
#include "meshwright/runtime/coordinator.h"
#include "meshwright/runtime/job_runner.h"
#include "meshwright/runtime/pipeline_runner.h"

namespace meshwright {

// Virtual devices are threads of one process.
inline constexpr int64_t kMaxVirtualDevices = 256;

// The platform of a plan for virtual devices; empty: any.
std::string PlatformFor(const Plan& plan);

// A client with at least this many devices. kInvalidArgument, saying how many
// there are, if the machine has fewer.
absl::StatusOr<std::unique_ptr<Client>> MakeClientFor(
    const std::string& platform, int64_t devices);

// Devices of this process; `cache`: of their compiled programs, or null.
struct OnDevices {
  OnDevices(Client* of, CompileCache* kept = nullptr)  // NOLINT: also implicit.
      : client(of), cache(kept) {}

  Client* client;
  CompileCache* cache;
};

// The workers of a coordinator; `beside`: a job on them that stays, or null.
struct OnWorkers {
  Coordinator* coordinator = nullptr;
  const JobRunner* beside = nullptr;
};

// Where steps run: on the devices of this process, or on those of workers.
using Where = std::variant<OnDevices, Coordinator*, OnWorkers>;

// All arguments must outlive the runner. The whole step on one device, or as
// partitioned.
absl::StatusOr<std::unique_ptr<JobRunner>> MakeRunner(const Module& module,
                                                      Where where);
absl::StatusOr<std::unique_ptr<JobRunner>> MakeRunner(const Module& module,
                                                      const Partitioned& split,
                                                      Where where);
absl::StatusOr<std::unique_ptr<PipelineRunner>> MakeRunner(
    const Module& module, const PlannedStages& stages, Where where);

// The programs of a plan.
using LoweredPlan = std::variant<Partitioned, PlannedStages>;
absl::StatusOr<std::unique_ptr<const LoweredPlan>> LowerPlan(
    const Module& module, const Plan& plan);

struct PlannedRunner {
  std::unique_ptr<Runner> runner;
  JobRunner* job = nullptr;  // The runner itself, or the one that it wraps.
};
// All arguments must outlive the runner.
absl::StatusOr<PlannedRunner> MakeRunner(const Module& module,
                                         const LoweredPlan& lowered,
                                         Where where);

}  // namespace meshwright

#endif  // MESHWRIGHT_API_PLANNED_RUNNER_H_
