// Jobs on the devices of this process.
#ifndef MESHWRIGHT_RUNTIME_LOCAL_RUNNER_H_
#define MESHWRIGHT_RUNTIME_LOCAL_RUNNER_H_

#include <memory>

#include "absl/status/statusor.h"
#include "meshwright/engine/client.h"
#include "meshwright/hlo/module.h"
#include "meshwright/runtime/compile_cache.h"
#include "meshwright/runtime/job.h"
#include "meshwright/runtime/job_runner.h"

namespace meshwright {

// Compile for the first devices of the client. `module` (the whole step) and
// the client must outlive the runner, and so must the cache, if any; what the
// others point to, the call.
// Errors as MakeJob and PlaceJob.
absl::StatusOr<std::unique_ptr<JobRunner>> MakeLocalRunner(
    const Module& module, JobSource source, Client* client,
    OptionMap xla_overrides = {}, CompileCache* cache = nullptr);
absl::StatusOr<std::unique_ptr<JobRunner>> MakeLocalRunner(
    const Module& module, const ShardedStep& step, Client* client,
    OptionMap xla_overrides = {});
// On one device.
absl::StatusOr<std::unique_ptr<JobRunner>> MakeLocalRunner(
    const Module& module, Client* client, OptionMap xla_overrides = {});

}  // namespace meshwright

#endif  // MESHWRIGHT_RUNTIME_LOCAL_RUNNER_H_
