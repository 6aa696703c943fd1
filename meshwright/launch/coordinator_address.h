// The address of rank 0 of a job, from the environment variables of launchers.
//
//   SLURM_STEP_NODELIST=gpu[02-05] SLURM_JOB_ID=4711   // gpu02:32152
//
// Ports are derived from the job's number, so that jobs on one host differ:
// 20000 to 32767, below the ephemeral ports. A job on a single host uses its
// loopback interface.
#ifndef MESHWRIGHT_LAUNCH_COORDINATOR_ADDRESS_H_
#define MESHWRIGHT_LAUNCH_COORDINATOR_ADDRESS_H_

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "meshwright/launch/environment.h"
#include "meshwright/launch/host_port.h"

namespace meshwright {

// 20000 to 32767.
int JobPort(uint64_t job);

// MASTER_ADDR and MASTER_PORT. Under torchrun, whose own store listens there,
// the port is derived from that one.
absl::StatusOr<std::optional<HostPort>> TorchrunCoordinator(
    const Environment& environment);

// The first host of SLURM_STEP_NODELIST, where rank 0 is unless tasks are
// distributed arbitrarily; the port is derived from SLURM_JOB_ID and
// SLURM_STEP_ID.
absl::StatusOr<std::optional<HostPort>> SlurmCoordinator(
    const Environment& environment);

// The host of mpirun: from OMPI_MCA_orte_hnp_uri (Open MPI 4) or PMIX_NAMESPACE
// (5, "prterun-HOST-PID@1"). Rank 0 is there unless a host list excludes it.
absl::StatusOr<std::optional<HostPort>> OpenMpiCoordinator(
    const Environment& environment);

// The first line of SKYPILOT_NODE_IPS.
absl::StatusOr<std::optional<HostPort>> SkyPilotCoordinator(
    const Environment& environment);

// The address given by the user: MESHWRIGHT_COORDINATOR,
// JAX_COORDINATOR_ADDRESS (with JAX_COORDINATOR_PORT), MASTER_ADDR (with
// MASTER_PORT); the first that is set.
absl::StatusOr<std::optional<HostPort>> GivenCoordinator(
    const Environment& environment);

}  // namespace meshwright

#endif  // MESHWRIGHT_LAUNCH_COORDINATOR_ADDRESS_H_
