// The programs of a job, as given to the compiler of one of its workers.
#ifndef MESHWRIGHT_RUNTIME_WRITE_PROGRAMS_H_
#define MESHWRIGHT_RUNTIME_WRITE_PROGRAMS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "meshwright/runtime/job.h"

namespace meshwright {

// The number by which calls of programs find their job's collectives. Jobs that
// are loaded at the same time have different ones; the first always has the
// same, so that programs compiled for one are found for the next.
inline constexpr int64_t kJobCalls = 0;
// That of the n-th job beside the first (0), and of the job that computes its
// initial state.
inline constexpr int64_t CallsOf(int64_t n) { return kJobCalls + 2 * n; }
inline constexpr int64_t InitCallsOf(int64_t calls) { return calls + 1; }

// By program: HLO for the devices that `worker` has of its stage, empty if it
// has none. Collectives with devices of other workers become calls
// (crossing/cross_process.h) with number `calls`, unless the platform's
// own collectives span processes: then it is HLO for all devices of the stage.
// `platform` is the worker's. Requires: the job is placed.
absl::StatusOr<std::vector<std::string>> WritePrograms(
    const JobSource& source, int worker, int64_t calls,
    absl::string_view platform);

}  // namespace meshwright

#endif  // MESHWRIGHT_RUNTIME_WRITE_PROGRAMS_H_
