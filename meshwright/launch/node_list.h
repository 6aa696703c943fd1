// Slurm's short form of a list of hosts.
//
//   ExpandNodeList("gpu[01-02,07]-ib,login1")
//       // {"gpu01-ib", "gpu02-ib", "gpu07-ib", "login1"}
//
// A name may have several brackets ("rack[1-2]node[1-4]": the last one runs
// fastest); numbers keep their leading zeros.
#ifndef MESHWRIGHT_LAUNCH_NODE_LIST_H_
#define MESHWRIGHT_LAUNCH_NODE_LIST_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace meshwright {

// kInvalidArgument, naming the part at fault; also for more than 2^20 hosts.
absl::StatusOr<std::vector<std::string>> ExpandNodeList(absl::string_view list);

}  // namespace meshwright

#endif  // MESHWRIGHT_LAUNCH_NODE_LIST_H_
