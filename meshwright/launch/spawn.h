// Starts a program by fork and exec, with the details handled correctly.
#ifndef MESHWRIGHT_LAUNCH_SPAWN_H_
#define MESHWRIGHT_LAUNCH_SPAWN_H_

#include <sys/types.h>

#include <csignal>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace meshwright {

struct SpawnRequest {
  std::vector<std::string> argv;  // argv[0] is a path, or is found on PATH.
  std::map<std::string, std::string> environment;  // Added to this process's.
  // Open descriptors of this process to become the program's; they stay open
  // here. -1: /dev/null.
  int stdin_fd = -1;
  int stdout_fd = -1;
  int stderr_fd = -1;
  // Sent by the kernel when this process ends, however that happens; 0: none.
  int death_signal = SIGKILL;
};

// The program has no blocked or ignored signals, no other descriptors of this
// process, and leads a process group of its own, so that Ctrl-C reaches only
// its parent. kNotFound or another code, naming the program, if it cannot be
// run.
//
// Since the kernel ties the death signal to the thread that forks, one thread
// that never ends forks for all callers.
absl::StatusOr<pid_t> Spawn(const SpawnRequest& request);

}  // namespace meshwright

#endif  // MESHWRIGHT_LAUNCH_SPAWN_H_
