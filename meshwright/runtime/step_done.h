// What happened in a step, as workers report it.
#ifndef MESHWRIGHT_RUNTIME_STEP_DONE_H_
#define MESHWRIGHT_RUNTIME_STEP_DONE_H_

#include <cstdint>

#include "meshwright/runtime/job_site.h"
#include "proto/worker.pb.h"

namespace meshwright {

proto::StepDone ToProto(int64_t number, const StepReport& report,
                        bool timed_actions);

// Adds one worker's part to those of others in the same step.
void AddTo(const proto::StepDone& done, StepReport& report);

}  // namespace meshwright

#endif  // MESHWRIGHT_RUNTIME_STEP_DONE_H_
