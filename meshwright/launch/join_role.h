// Who of a launcher's processes runs the coordinator, and whom each joins.
//
// The rule. `meshwright worker --join HOST:PORT` joins that coordinator, under
// any launcher. `meshwright worker` without --join needs a launcher to have
// started it (rank_discovery.h): rank 0 runs the coordinator beside its worker,
// all ranks join it, rank 0 too, at the one address that all of them derive.
//
//   srun -N 2 --ntasks-per-node 1 meshwright worker
//
// ```
// rank   runs_coordinator   listen          join
// 0      true               0.0.0.0:32152   gpu02:32152
// 1      false                              gpu02:32152
// ```
//
// Rank 0 listens on all interfaces, because a host's own name often leads to
// its loopback interface; on loopback alone if that is where the others look.
#ifndef MESHWRIGHT_LAUNCH_JOIN_ROLE_H_
#define MESHWRIGHT_LAUNCH_JOIN_ROLE_H_

#include <string>

#include "absl/status/statusor.h"
#include "meshwright/launch/rank_discovery.h"

namespace meshwright {

struct JoinRole {
  bool runs_coordinator = false;
  std::string listen;  // Of the coordinator; empty if another rank runs it.
  std::string join;

  bool operator==(const JoinRole&) const = default;
};

// kInvalidArgument, saying what to set, if the address of rank 0 is unknown. A
// job of one process needs no address.
absl::StatusOr<JoinRole> RoleOf(const Discovered& found);

}  // namespace meshwright

#endif  // MESHWRIGHT_LAUNCH_JOIN_ROLE_H_
