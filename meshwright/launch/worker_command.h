// The command line of a worker.
//
//   WorkerArguments({.join = "gpu02:7777", .rank = 1, .devices = 8})
//       // {"worker", "--join", "gpu02:7777", "--rank", "1", "--devices", "8"}
#ifndef MESHWRIGHT_LAUNCH_WORKER_COMMAND_H_
#define MESHWRIGHT_LAUNCH_WORKER_COMMAND_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace meshwright {

struct WorkerCommand {
  std::string join;  // The coordinator's HOST:PORT.
  std::optional<int> rank;
  std::optional<int64_t> devices;
  std::string platform;  // Empty: the worker's choice.
};

// All after the program.
std::vector<std::string> WorkerArguments(const WorkerCommand& command);

}  // namespace meshwright

#endif  // MESHWRIGHT_LAUNCH_WORKER_COMMAND_H_
