#include "meshwright/api/planned_runner.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "meshwright/api/device_client.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/plan/plan.h"
#include "meshwright/runtime/local_runner.h"

namespace meshwright {

std::string PlatformFor(const Plan& plan) {
  return plan.cluster.shared_host ? "cpu" : "";
}

absl::StatusOr<std::unique_ptr<Client>> MakeClientFor(
    const std::string& platform, int64_t devices) {
  const int virtual_devices =
      static_cast<int>(std::min(devices, kMaxVirtualDevices));
  MW_ASSIGN_OR_RETURN(std::unique_ptr<Client> client,
                      MakeClient(platform, virtual_devices));
  const int64_t present = std::ssize(client->devices());
  if (present >= devices) return client;
  const std::string name = client->platform_name();
  return absl::InvalidArgumentError(absl::StrCat(
      "the step is split for ", devices, " devices; ",
      name == "cpu"
          ? absl::StrCat("one process stands in for up to ", present)
          : absl::StrCat("this machine has ", present, " (", name,
                         "); --platform cpu runs it on virtual ones")));
}

namespace {

absl::StatusOr<std::unique_ptr<JobRunner>> Load(const Module& module,
                                                JobSource source, Where where) {
  if (const auto* const here = std::get_if<OnDevices>(&where)) {
    return MakeLocalRunner(module, std::move(source), here->client,
                           /*xla_overrides=*/{}, here->cache);
  }
  const OnWorkers on = std::holds_alternative<OnWorkers>(where)
                           ? std::get<OnWorkers>(where)
                           : OnWorkers{std::get<Coordinator*>(where)};
  MW_ASSIGN_OR_RETURN(
      std::unique_ptr<RemoteSite> site,
      on.coordinator->Load(std::move(source), on.beside != nullptr
                                                  ? on.beside->remote_site()
                                                  : nullptr));
  const Job* const job = &site->job();
  return std::make_unique<JobRunner>(module, job, std::move(site));
}

}  // namespace

absl::StatusOr<std::unique_ptr<JobRunner>> MakeRunner(const Module& module,
                                                      Where where) {
  MW_ASSIGN_OR_RETURN(JobSource source, MakeJob(module));
  return Load(module, std::move(source), where);
}

absl::StatusOr<std::unique_ptr<JobRunner>> MakeRunner(const Module& module,
                                                      const Partitioned& split,
                                                      Where where) {
  MW_ASSIGN_OR_RETURN(JobSource source,
                      MakeJob(module, {.program = split.module,
                                       .mesh = split.mesh,
                                       .parameters = split.parameters,
                                       .outputs = split.outputs}));
  return Load(module, std::move(source), where);
}

absl::StatusOr<std::unique_ptr<PipelineRunner>> MakeRunner(
    const Module& module, const PlannedStages& stages, Where where) {
  const SplitStep* const split =
      stages.split.has_value() ? &*stages.split : nullptr;
  const Module& cut = split != nullptr ? split->module : module;
  MW_ASSIGN_OR_RETURN(JobSource source, MakeJob(cut, stages.step, stages.layout,
                                                stages.timetable));
  MW_ASSIGN_OR_RETURN(std::unique_ptr<JobRunner> pipeline,
                      Load(cut, std::move(source), where));
  return std::make_unique<PipelineRunner>(&module, split, std::move(pipeline));
}

absl::StatusOr<std::unique_ptr<const LoweredPlan>> LowerPlan(
    const Module& module, const Plan& plan) {
  if (plan.stages() > 1) {
    MW_ASSIGN_OR_RETURN(PlannedStages stages, StagePlan(module, plan));
    return std::make_unique<const LoweredPlan>(std::move(stages));
  }
  MW_ASSIGN_OR_RETURN(Partitioned split, PartitionPlan(module, plan));
  return std::make_unique<const LoweredPlan>(std::move(split));
}

absl::StatusOr<PlannedRunner> MakeRunner(const Module& module,
                                         const LoweredPlan& lowered,
                                         Where where) {
  PlannedRunner made;
  if (const auto* const stages = std::get_if<PlannedStages>(&lowered)) {
    MW_ASSIGN_OR_RETURN(std::unique_ptr<PipelineRunner> runner,
                        MakeRunner(module, *stages, where));
    made.job = &runner->pipeline();
    made.runner = std::move(runner);
  } else {
    MW_ASSIGN_OR_RETURN(
        std::unique_ptr<JobRunner> runner,
        MakeRunner(module, std::get<Partitioned>(lowered), where));
    made.job = runner.get();
    made.runner = std::move(runner);
  }
  return made;
}

}  // namespace meshwright
