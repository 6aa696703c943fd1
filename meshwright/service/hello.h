// A worker's introduction to the coordinator.
#ifndef MESHWRIGHT_SERVICE_HELLO_H_
#define MESHWRIGHT_SERVICE_HELLO_H_

#include <string>

#include "absl/status/status.h"
#include "proto/worker.pb.h"

namespace meshwright {

// "host-3 (pid 812)", for messages.
std::string WorkerName(const proto::Hello& hello);

// kFailedPrecondition if the worker is of another version of this program, or
// speaks another protocol; kInvalidArgument if it is malformed.
absl::Status CheckHello(const proto::Hello& hello);

}  // namespace meshwright

#endif  // MESHWRIGHT_SERVICE_HELLO_H_
