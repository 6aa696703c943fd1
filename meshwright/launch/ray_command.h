// Starts workers on the hosts of a Ray cluster, by our Python package.
//
//   RayCommand({.address = "auto", .workers = 4, .gpus = 8,
//               .argv = {"meshwright", "worker", "--join", "10.0.0.1:7777"}},
//              ProcessEnvironment())
//       // {"python3", "-m", "meshwright.launch_ray", "--address", "auto", ...}
//
// Workers get --rank from it. Its lines carry names already ("[worker 2] ...").
#ifndef MESHWRIGHT_LAUNCH_RAY_COMMAND_H_
#define MESHWRIGHT_LAUNCH_RAY_COMMAND_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "meshwright/launch/environment.h"

namespace meshwright {

struct RayOptions {
  std::string address = "auto";   // Of the Ray cluster.
  int64_t workers = 1;            // One per host.
  int64_t gpus = 0;               // That a host must have free.
  std::vector<std::string> argv;  // To run there.
  std::map<std::string, std::string> environment;  // For it.
};

// The interpreter is MESHWRIGHT_PYTHON, that of VIRTUAL_ENV, or python3.
std::vector<std::string> RayCommand(const RayOptions& options,
                                    const Environment& environment);

}  // namespace meshwright

#endif  // MESHWRIGHT_LAUNCH_RAY_COMMAND_H_
