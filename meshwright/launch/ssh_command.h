// Runs a program on another machine by ssh, and ends it there, too.
//
//   MW_ASSIGN_OR_RETURN(const std::vector<std::string> hosts,
//                       SshHosts(cluster));       // {"10.0.0.1", "10.0.0.2"}
//   ChildProcess::Start({.argv = SshCommand(
//                             {.host = hosts[1],
//                              .argv = {"meshwright", "worker"}}),
//                        .name = "worker 1",
//                        .hold_stdin = true});
//
//   ssh -T -o BatchMode=yes ... -- 10.0.0.2 'exec 3<&0; meshwright worker ...'
//
// ssh alone would leave the program running when its connection ends. The
// remote command is a line of sh that starts the program and ends it when its
// own stdin is closed, that is, when the local ssh ends for whatever reason.
// Keys, users and ports other than 22 belong in ~/.ssh/config; there are no
// prompts.
#ifndef MESHWRIGHT_LAUNCH_SSH_COMMAND_H_
#define MESHWRIGHT_LAUNCH_SSH_COMMAND_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "meshwright/mesh/cluster.h"

namespace meshwright {

struct SshOptions {
  std::string host;               // In ssh's syntax: "gpu02", "me@10.0.0.1".
  std::vector<std::string> argv;  // To run there.
  std::map<std::string, std::string> environment;  // For it.
  std::vector<std::string> ssh = {"ssh"};  // With further options, if any.
};

// The local command line.
std::vector<std::string> SshCommand(const SshOptions& options);

// A word quoted for sh: it's becomes 'it'\''s'.
std::string ShellQuoted(absl::string_view word);

// The hosts of a cluster's addresses, without ports. kInvalidArgument, naming
// the host, if it has no address or one that ssh could misinterpret.
absl::StatusOr<std::vector<std::string>> SshHosts(const Cluster& cluster);

}  // namespace meshwright

#endif  // MESHWRIGHT_LAUNCH_SSH_COMMAND_H_
