// Serialization of jobs.
#ifndef MESHWRIGHT_RUNTIME_JOB_SPEC_H_
#define MESHWRIGHT_RUNTIME_JOB_SPEC_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "meshwright/runtime/job.h"

namespace meshwright {

// What a worker needs to load a job.
struct JobSpec {
  int64_t id = 0;
  Job job;
  std::vector<std::string> worker_names;  // For messages.
  absl::Duration wire_timeout = absl::InfiniteDuration();
  // By program: the hash of its code; empty if it does not run there.
  std::vector<std::string> code_hashes;
};

// The job is `job`, not the spec's own.
std::string WriteJobSpec(const JobSpec& spec, const Job& job);
// kInvalidArgument if it is malformed or inconsistent: the result can be run
// without further checks.
absl::StatusOr<JobSpec> ReadJobSpec(absl::string_view bytes);

}  // namespace meshwright

#endif  // MESHWRIGHT_RUNTIME_JOB_SPEC_H_
