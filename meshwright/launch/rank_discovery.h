// Which process of a job this is, as its launcher says in the environment.
//
//   SLURM_PROCID=3 SLURM_STEP_NUM_TASKS=8 SLURM_LOCALID=1 SLURM_JOB_ID=4711
//   SLURM_STEP_ID=0 SLURM_STEP_NUM_NODES=4 SLURM_STEP_NODELIST=gpu[02-05]
//
//   MW_ASSIGN_OR_RETURN(const std::optional<Discovered> found,
//                       DiscoverRank(ProcessEnvironment()));
//   found->ToString();     // "rank 3 of 8, from Slurm (SLURM_PROCID)"
//   found->coordinator;    // "gpu02:32152"
//
// The first of these whose first variable is set:
//
// ```
// torchrun     RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR, MASTER_PORT
// Kubeflow     PET_NODE_RANK, PET_NNODES, PET_MASTER_ADDR, PET_MASTER_PORT
// JAX          JAX_PROCESS_ID, JAX_NUM_PROCESSES, JAX_COORDINATOR_ADDRESS
// Open MPI     OMPI_COMM_WORLD_RANK, _SIZE, _LOCAL_RANK
// Slurm        SLURM_PROCID (in a step), SLURM_STEP_NUM_TASKS, SLURM_LOCALID
// SkyPilot     SKYPILOT_NODE_RANK, SKYPILOT_NUM_NODES, SKYPILOT_NODE_IPS
// Kubernetes   JOB_COMPLETION_INDEX, MESHWRIGHT_WORLD_SIZE
// ```
//
// Launchers nest, the inner one knows best: torchrun runs under srun, and
// mpirun starts a daemon per node with srun, whose SLURM_PROCID all ranks of
// the node inherit. In a batch script, outside steps, Slurm's variables are
// those of rank 0 though nothing else was started; they say nothing.
#ifndef MESHWRIGHT_LAUNCH_RANK_DISCOVERY_H_
#define MESHWRIGHT_LAUNCH_RANK_DISCOVERY_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "meshwright/launch/environment.h"

namespace meshwright {

struct Discovered {
  std::string source;    // "Slurm"
  std::string variable;  // The variable with the rank: "SLURM_PROCID".
  int rank = 0;
  int world_size = 1;
  int local_rank = 0;  // On its host; 0 if the launcher does not provide it.
  // "host:port" of rank 0; empty if unknown. In this order:
  // MESHWRIGHT_COORDINATOR, JAX_COORDINATOR_ADDRESS, MASTER_ADDR; what the
  // launcher's own variables imply (coordinator_address.h).
  std::string coordinator;

  // "rank 3 of 8, from Slurm (SLURM_PROCID)"
  std::string ToString() const;

  bool operator==(const Discovered&) const = default;
};

// nullopt if no launcher started this process. kInvalidArgument in one line
// that names the variable: missing, not a number, or contradicting another.
absl::StatusOr<std::optional<Discovered>> DiscoverRank(
    const Environment& environment);

}  // namespace meshwright

#endif  // MESHWRIGHT_LAUNCH_RANK_DISCOVERY_H_
