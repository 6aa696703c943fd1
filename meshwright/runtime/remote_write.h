// A save by workers, as awaited by the coordinator.
#ifndef MESHWRIGHT_RUNTIME_REMOTE_WRITE_H_
#define MESHWRIGHT_RUNTIME_REMOTE_WRITE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "meshwright/runtime/job_site.h"
#include "meshwright/runtime/worker_watch.h"

namespace meshwright {

class RemoteWrite : public StateWrite {
 public:
  // `save` is the number given to the workers; `files` the total. `aborted`
  // tells, from any thread, why the wait should end.
  RemoteWrite(uint64_t save, int64_t files, Team team,
              std::shared_ptr<WorkerWatch> watch,
              std::function<absl::Status()> aborted)
      : save_(save),
        files_(files),
        team_(std::move(team)),
        watch_(std::move(watch)),
        aborted_(std::move(aborted)) {}

  absl::StatusOr<std::vector<WrittenFile>> Await() override;

 private:
  const uint64_t save_;
  const int64_t files_;
  const Team team_;
  const std::shared_ptr<WorkerWatch> watch_;
  const std::function<absl::Status()> aborted_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_RUNTIME_REMOTE_WRITE_H_
