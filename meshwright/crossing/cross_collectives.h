// What the calls of programs that span several processes do
// (program_passes/cross_process.h).
//
//   MW_RETURN_IF_ERROR(CrossCollectives::Register(plugin));   // Once.
//   MW_ASSIGN_OR_RETURN(auto collectives, CrossCollectives::Create(job, wire));
//   MW_RETURN_IF_ERROR(collectives->Connect(*ProcessGroupsOf(program, place)));
//   ...                             // Run LowerForProcess(program, place,
//   job). collectives->traffic().bytes_sent;
//
// Members of a group that are in this process meet; the last to come hands what
// all of them brought to a thread that does one exchange with the other
// processes of the group (cross_round.h), and then lets all go on. No thread of
// the compiler's waits, and there are as many others as have to wait.
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
// Runs of one program may follow each other closely, but not overtake: the n-th
// call of a device belongs to the n-th of the others.
class CrossCollectives {
 public:
  // Makes programs of this plug-in find them. May be called again.
  static absl::Status Register(const Plugin& plugin);

  // From now on calls of `job` on worker wire->rank() are answered. The wire
  // outlives them. kAlreadyExists if there are some already.
  static absl::StatusOr<std::unique_ptr<CrossCollectives>> Create(int64_t job,
                                                                  Wire* wire);

  CrossCollectives(const CrossCollectives&) = delete;
  CrossCollectives& operator=(const CrossCollectives&) = delete;
  // Calls that still wait fail with kCancelled, and so does the wire if there
  // are any.
  ~CrossCollectives();

  // Meets the other processes of all groups, in this order, ahead of the first
  // calls; without it they do.
  absl::Status Connect(absl::Span<const std::vector<int>> groups);

  // The first error. It fails all calls, those that wait too, and the wire, so
  // that the others hear of it; programs lose its code on the way.
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
