// Jobs as bytes.
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
  // By program: the hash of its code, empty where it does not run.
  std::vector<std::string> code_hashes;
};

// The job is `job`, not the spec's own.
std::string WriteJobSpec(const JobSpec& spec, const Job& job);
// kInvalidArgument when it is none, or contradicts itself: what was read can be
// run without looking at it again.
absl::StatusOr<JobSpec> ReadJobSpec(absl::string_view bytes);

}  // namespace meshwright

#endif  // MESHWRIGHT_RUNTIME_JOB_SPEC_H_
