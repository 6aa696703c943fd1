#include "meshwright/launch/join_role.h"

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/launch/host_port.h"

namespace meshwright {

absl::StatusOr<JoinRole> RoleOf(const Discovered& found) {
  HostPort address = {"127.0.0.1", kCoordinatorPort};
  if (!found.coordinator.empty()) {
    MW_ASSIGN_OR_RETURN(address, ParseHostPort(found.coordinator));
  } else if (found.world_size > 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        found.ToString(), ": nothing says where rank 0 is; set ",
        "MESHWRIGHT_COORDINATOR to its HOST:PORT, or start `meshwright serve` ",
        "and give --join HOST:PORT"));
  }
  JoinRole role = {.runs_coordinator = found.rank == 0,
                   .join = address.ToString()};
  if (role.runs_coordinator) {
    const bool is_v6 = absl::StrContains(address.host, ':');
    const HostPort everywhere = {is_v6 ? "::" : "0.0.0.0", address.port};
    role.listen = address.IsLoopback() ? role.join : everywhere.ToString();
  }
  return role;
}

}  // namespace meshwright
