#include "meshwright/api/planned_runner.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "meshwright/api/device_client.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/mesh/cluster_file.h"
#include "meshwright/plan/plan.h"

namespace meshwright {

absl::StatusOr<std::string> PlatformFor(const Plan& plan) {
  MW_ASSIGN_OR_RETURN(const Cluster cluster, ParseCluster(plan.cluster));
  return cluster.shared_host ? std::string("cpu") : std::string();
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

absl::StatusOr<std::unique_ptr<StepRunner>> MakeRunner(const Module& module,
                                                       const Partitioned& split,
                                                       Client* client) {
  ShardedStep step{.program = split.module,
                   .mesh = split.mesh,
                   .parameters = split.parameters,
                   .outputs = split.outputs};
  return StepRunner::CreateSharded(module, std::move(step), client);
}

absl::StatusOr<std::unique_ptr<PipelineRunner>> MakeRunner(
    const Module& module, PlannedStages& stages, Client* client) {
  const SplitStep* const split =
      stages.split.has_value() ? &*stages.split : nullptr;
  MW_ASSIGN_OR_RETURN(
      std::unique_ptr<StagedRunner> pipeline,
      StagedRunner::Create(split != nullptr ? split->module : module,
                           stages.step, stages.timetable,
                           std::move(stages.layout), client));
  return std::make_unique<PipelineRunner>(&module, split, std::move(pipeline));
}

}  // namespace meshwright
