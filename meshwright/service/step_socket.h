// Answers steps of the script that started this process, through a socket that
// both have had since then: a message each way, without gRPC's threads.
//
//   MW_ASSIGN_OR_RETURN(auto socket,
//                       StepSocket::Start({.fd = fd, .jobs = &jobs}));
//
// A frame is a header, two numbers of 32 bits in the order of the machine, and
// that many bytes:
//
//   to the engine    size, kProtocol       StepRequest (proto/service.proto)
//   to the script    size, 0               StepReply
//                    size, absl's code     the text of an error
//
// Frames are answered in order. What is no frame ends the connection; the
// script then calls RunStep, which does the same.
#ifndef MESHWRIGHT_SERVICE_STEP_SOCKET_H_
#define MESHWRIGHT_SERVICE_STEP_SOCKET_H_

#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "meshwright/base/shared_memory.h"
#include "meshwright/service/job_service.h"

namespace meshwright {

struct StepSocketOptions {
  int fd = -1;                 // Owned, also on errors.
  JobService* jobs = nullptr;  // Must outlive the socket.
  // As JobServer's.
  std::shared_ptr<const SharedMemory> memory = nullptr;
  // Called at most once, on its thread: why it ended the connection.
  std::function<void(const absl::Status&)> on_malformed = nullptr;
};

class StepSocket {
 public:
  // kInvalidArgument if that is no end of a connected Unix socket.
  static absl::StatusOr<std::unique_ptr<StepSocket>> Start(
      StepSocketOptions options);
  // Cancels the call in progress, and waits for it.
  virtual ~StepSocket() = default;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_SERVICE_STEP_SOCKET_H_
