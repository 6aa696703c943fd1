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

// The number by which calls of programs find their job's collectives: the same
// for all jobs, so that programs compiled for one are found for the next; jobs
// that are loaded at the same time have different ones.
inline constexpr int64_t kJobCalls = 0;
inline constexpr int64_t kInitCalls = 1;

// By program: HLO for the devices that `worker` has of its stage, empty if it
// has none. Collectives with devices of other workers become calls
// (program_passes/cross_process.h) with number `calls`, unless the platform's
// own collectives span processes: then it is HLO for all devices of the stage.
// `platform` is the worker's. Requires: the job is placed.
absl::StatusOr<std::vector<std::string>> WritePrograms(
    const JobSource& source, int worker, int64_t calls,
    absl::string_view platform);

}  // namespace meshwright

#endif  // MESHWRIGHT_RUNTIME_WRITE_PROGRAMS_H_
