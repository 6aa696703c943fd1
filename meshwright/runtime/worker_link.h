// The two ends of the connection between a coordinator and a worker.
//
//   link->Start({.report = ..., .lost = ...});          // The coordinator.
//   link->Send(command);
//
//   while (true) {                                       // A worker.
//     MW_ASSIGN_OR_RETURN(auto command, link->Next());
//     MW_RETURN_IF_ERROR(link->Send(CarryOut(command)));
//   }
//
// Implemented over gRPC in service/, and within a process in memory_link.h.
#ifndef MESHWRIGHT_RUNTIME_WORKER_LINK_H_
#define MESHWRIGHT_RUNTIME_WORKER_LINK_H_

#include <functional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "meshwright/wire/key_value_store.h"
#include "proto/worker.pb.h"

namespace meshwright {

// Commands for which nobody may wait.
inline bool IsUrgent(const proto::WorkerCommand& command) {
  return command.has_abort() || command.has_renew() || command.has_shutdown() ||
         command.has_unmap();
}

// The coordinator's end of a connection to a worker. Thread-safe.
class WorkerLink {
 public:
  // Ends the connection; queued commands are still sent. No event is in
  // progress afterwards, unless it is the one that destroys the link.
  virtual ~WorkerLink() = default;

  virtual const proto::Hello& hello() const = 0;

  // Commands are sent in order; returns once it is queued. Waits while too much
  // is queued, unless it is urgent. kUnavailable once the connection is over;
  // kInvalidArgument for a message above the size limit.
  virtual absl::Status Send(proto::WorkerCommand command) = 0;

  // Called on a thread of the link, in order: `report` for each report; finally
  // `lost`, once, with the reason.
  struct Events {
    std::function<void(proto::WorkerReport)> report;
    std::function<void(absl::Status)> lost;
  };
  virtual void Start(Events events) = 0;
};

// A worker's end. Thread-safe.
class CoordinatorLink {
 public:
  // Ends the connection; queued reports are still sent.
  virtual ~CoordinatorLink() = default;

  // Waits. kUnavailable if the coordinator is lost.
  virtual absl::StatusOr<proto::WorkerCommand> Next() = 0;
  // As WorkerLink::Send.
  virtual absl::Status Send(proto::WorkerReport report) = 0;
  // The coordinator's. Lives as long as the link.
  virtual KeyValueStore& store() = 0;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_RUNTIME_WORKER_LINK_H_
