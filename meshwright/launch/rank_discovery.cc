#include "meshwright/launch/rank_discovery.h"

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/launch/coordinator_address.h"
#include "meshwright/launch/variables.h"

namespace meshwright {
namespace {

constexpr int64_t kMaxRanks = int64_t{1} << 20;

using FindCoordinator =
    absl::StatusOr<std::optional<HostPort>> (*)(const Environment&);

struct Launcher {
  const char* name;
  const char* rank;
  std::vector<const char*> size;  // The first one that is set counts.
  const char* local_rank = nullptr;
  const char* local_size = nullptr;
  // The launcher has started this process only if this is set, too.
  const char* also = nullptr;
  FindCoordinator coordinator = nullptr;
};

absl::StatusOr<std::optional<HostPort>> KubeflowCoordinator(
    const Environment& environment) {
  return AddressVariable(environment, "PET_MASTER_ADDR", "PET_MASTER_PORT",
                         kCoordinatorPort);
}

const std::vector<Launcher>& Launchers() {
  static const auto* const launchers = new std::vector<Launcher>{
      {.name = "torchrun",
       .rank = "RANK",
       .size = {"WORLD_SIZE"},
       .local_rank = "LOCAL_RANK",
       .local_size = "LOCAL_WORLD_SIZE",
       .coordinator = &TorchrunCoordinator},
      {.name = "Kubeflow",
       .rank = "PET_NODE_RANK",
       .size = {"PET_NNODES"},
       .coordinator = &KubeflowCoordinator},
      {.name = "JAX", .rank = "JAX_PROCESS_ID", .size = {"JAX_NUM_PROCESSES"}},
      {.name = "Open MPI",
       .rank = "OMPI_COMM_WORLD_RANK",
       .size = {"OMPI_COMM_WORLD_SIZE"},
       .local_rank = "OMPI_COMM_WORLD_LOCAL_RANK",
       .local_size = "OMPI_COMM_WORLD_LOCAL_SIZE",
       .coordinator = &OpenMpiCoordinator},
      {.name = "Slurm",
       .rank = "SLURM_PROCID",
       .size = {"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"},
       .local_rank = "SLURM_LOCALID",
       .also = "SLURM_STEP_NODELIST",
       .coordinator = &SlurmCoordinator},
      {.name = "SkyPilot",
       .rank = "SKYPILOT_NODE_RANK",
       .size = {"SKYPILOT_NUM_NODES"},
       .coordinator = &SkyPilotCoordinator},
      {.name = "Kubernetes",
       .rank = "JOB_COMPLETION_INDEX",
       .size = {"MESHWRIGHT_WORLD_SIZE", "WORLD_SIZE"}}};
  return *launchers;
}

// Checks 0 <= rank < size, given by two variables.
absl::Status CheckBelow(const char* rank_name, int64_t rank,
                        const char* size_name, int64_t size) {
  if (rank < size) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      rank_name, " is ", rank, ", but ", size_name, " is ", size,
      size > 0 ? absl::StrCat(": ranks are 0 to ", size - 1) : ""));
}

absl::Status ReadSize(const Launcher& launcher, const Environment& environment,
                      Discovered& found) {
  for (const char* name : launcher.size) {
    MW_ASSIGN_OR_RETURN(const std::optional<int64_t> size,
                        IntegerVariable(environment, name, kMaxRanks));
    if (!size.has_value()) continue;
    found.world_size = static_cast<int>(*size);
    return CheckBelow(launcher.rank, found.rank, name, *size);
  }
  return absl::InvalidArgumentError(
      absl::StrCat(launcher.rank, " is set (", launcher.name, "), but ",
                   absl::StrJoin(launcher.size, " or "),
                   ", the number of processes, is not"));
}

absl::Status ReadLocalRank(const Launcher& launcher,
                           const Environment& environment, Discovered& found) {
  if (launcher.local_rank == nullptr) return absl::OkStatus();
  MW_ASSIGN_OR_RETURN(
      const std::optional<int64_t> rank,
      IntegerVariable(environment, launcher.local_rank, kMaxRanks));
  if (!rank.has_value()) return absl::OkStatus();
  found.local_rank = static_cast<int>(*rank);
  MW_RETURN_IF_ERROR(CheckBelow(launcher.local_rank, *rank,
                                "the number of processes", found.world_size));
  if (launcher.local_size == nullptr) return absl::OkStatus();
  MW_ASSIGN_OR_RETURN(
      const std::optional<int64_t> size,
      IntegerVariable(environment, launcher.local_size, kMaxRanks));
  if (!size.has_value()) return absl::OkStatus();
  return CheckBelow(launcher.local_rank, *rank, launcher.local_size, *size);
}

absl::Status ReadCoordinator(const Launcher& launcher,
                             const Environment& environment,
                             Discovered& found) {
  // MASTER_ADDR belongs to torchrun, and its port may be taken.
  const bool own = launcher.coordinator == &TorchrunCoordinator &&
                   !Variable(environment, "MESHWRIGHT_COORDINATOR").has_value();
  std::optional<HostPort> address;
  if (!own) {
    MW_ASSIGN_OR_RETURN(address, GivenCoordinator(environment));
  }
  if (!address.has_value() && launcher.coordinator != nullptr) {
    MW_ASSIGN_OR_RETURN(address, launcher.coordinator(environment));
  }
  if (address.has_value()) found.coordinator = address->ToString();
  return absl::OkStatus();
}

}  // namespace

std::string Discovered::ToString() const {
  return absl::StrCat("rank ", rank, " of ", world_size, ", from ", source,
                      " (", variable, ")");
}

absl::StatusOr<std::optional<Discovered>> DiscoverRank(
    const Environment& environment) {
  for (const Launcher& launcher : Launchers()) {
    MW_ASSIGN_OR_RETURN(const std::optional<int64_t> rank,
                        IntegerVariable(environment, launcher.rank, kMaxRanks));
    if (!rank.has_value()) continue;
    if (launcher.also != nullptr &&
        !Variable(environment, launcher.also).has_value()) {
      continue;
    }
    Discovered found = {.source = launcher.name,
                        .variable = launcher.rank,
                        .rank = static_cast<int>(*rank)};
    MW_RETURN_IF_ERROR(ReadSize(launcher, environment, found));
    MW_RETURN_IF_ERROR(ReadLocalRank(launcher, environment, found));
    MW_RETURN_IF_ERROR(ReadCoordinator(launcher, environment, found));
    return found;
  }
  return std::nullopt;
}

}  // namespace meshwright
