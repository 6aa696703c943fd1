// Implements the calls of programs that span several processes
// (crossing/cross_process.h).
//
//   MW_RETURN_IF_ERROR(CrossCollectives::Register(plugin));   // Once.
//   MW_ASSIGN_OR_RETURN(auto collectives,
//                       CrossCollectives::Create(job, wire));
//   MW_RETURN_IF_ERROR(
//       collectives->Connect(*ProcessGroupsOf(program, place)));
//   ...                        // Run LowerForProcess(program, place, job).
//   collectives->traffic().bytes_sent;
//
// The members of a group in this process rendezvous; the last one to arrive
// passes the data of all of them to a thread that does one exchange with the
// other processes of the group (cross_round.h), and then completes the calls of
// all. No compiler thread blocks, and there are as many other threads as have
// to wait.
#ifndef MESHWRIGHT_CROSSING_CROSS_COLLECTIVES_H_
#define MESHWRIGHT_CROSSING_CROSS_COLLECTIVES_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "meshwright/crossing/cross_round.h"
#include "meshwright/engine/plugin.h"
#include "meshwright/wire/wire.h"

namespace meshwright {

// The collectives of one job on one worker. Thread-safe.
//
// Executions of one program may overlap, but not overtake each other: the n-th
// call of a device belongs to the n-th of the others.
class CrossCollectives {
 public:
  // Registers the handlers with a plug-in. May be called repeatedly.
  static absl::Status Register(const Plugin& plugin);

  // From now on calls of `job` on worker wire->rank() are answered. The wire
  // must outlive this. kAlreadyExists if the job has an instance already.
  static absl::StatusOr<std::unique_ptr<CrossCollectives>> Create(int64_t job,
                                                                  Wire* wire);

  CrossCollectives(const CrossCollectives&) = delete;
  CrossCollectives& operator=(const CrossCollectives&) = delete;
  // If there are waiting calls, they leave zeros and the wire is aborted.
  ~CrossCollectives();

  // Connects to the other processes of all groups, in this order, ahead of the
  // first calls, which would do so otherwise.
  absl::Status Connect(absl::Span<const std::vector<int>> groups);

  // The first error; to be asked after every run. It fails the wire, so that
  // the other processes are informed. Calls leave zeros from then on, including
  // waiting ones, so that programs run to their end: the devices of a process
  // wait for each other in the compiler's own collectives, too, for ever if one
  // of them has failed.
  absl::Status status() const;
  CrossTraffic traffic() const;

 private:
  class State;
  class Registry;

  CrossCollectives(int64_t job, std::shared_ptr<State> state);

  const int64_t job_;
  const std::shared_ptr<State> state_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_CROSSING_CROSS_COLLECTIVES_H_
