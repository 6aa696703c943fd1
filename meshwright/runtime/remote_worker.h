// The coordinator's view of a worker.
#ifndef MESHWRIGHT_RUNTIME_REMOTE_WORKER_H_
#define MESHWRIGHT_RUNTIME_REMOTE_WORKER_H_

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "meshwright/base/shared_memory.h"
#include "meshwright/base/steady_time.h"
#include "meshwright/runtime/team_history.h"
#include "meshwright/runtime/worker_link.h"

namespace meshwright {

// Thread-safe.
class RemoteWorker {
 public:
  RemoteWorker(std::string name, std::unique_ptr<WorkerLink> link);
  ~RemoteWorker();

  // Begins to listen. `changed` is called, on any thread, after each report and
  // when the worker is lost.
  void Start(std::function<void()> changed);

  const std::string& name() const { return name_; }
  const proto::Hello& hello() const { return link_->hello(); }
  // Of its connection: a worker that joins again has a higher one.
  int64_t serial() const { return serial_; }
  TeamHistory& history() { return history_; }

  // OK while it is alive; otherwise the reason of its loss.
  absl::Status health() const;
  bool IsSilentFor(absl::Duration time) const;
  std::vector<std::string> last_actions() const;

  // Sends a command, and returns the number that its reply will have.
  absl::StatusOr<uint64_t> Command(proto::WorkerCommand command);
  // Sends a command of which only a failure is reported (TakeFailure).
  absl::Status Post(proto::WorkerCommand command);
  // The same; keeps `owner` until the worker needs no more what the command
  // names, or is lost.
  absl::Status Lend(proto::WorkerCommand command,
                    std::shared_ptr<const void> owner);
  // Whether it can map this memory, which may be null. Asks it the first time;
  // it lets go of memory that nobody has here any more.
  bool CanMap(const std::shared_ptr<const SharedMemory>& memory);
  // Begins a load: what was sent for the one before is not there any more.
  void ForgetBlobs();
  // Sends bytes under their hash, unless that was done for the same load.
  absl::Status SendBlob(const std::string& hash, const std::string& bytes);
  // Drops reports that were not taken, which are about another job.
  void ForgetReports();

  // A reply that has arrived.
  bool TakeReply(uint64_t id, proto::Reply* reply);
  absl::Status TakeFailure();  // Of a posted command.
  std::deque<proto::StepDone> TakeSteps();
  std::vector<proto::TensorPart> TakeParts(uint64_t id);
  std::vector<proto::SavedFiles> TakeSaved(uint64_t save);

  // Declares it lost.
  void Lose(const absl::Status& why);

 private:
  void Receive(proto::WorkerReport report);
  void UnmapUnused();

  const std::string name_;
  const int64_t serial_;
  TeamHistory history_;
  std::function<void()> changed_;
  mutable std::mutex mutex_;
  absl::Status health_;
  absl::Time heard_ = SteadyNow();
  std::vector<std::string> actions_;
  uint64_t next_id_ = 1;
  std::map<uint64_t, proto::Reply> replies_;
  std::condition_variable replied_;
  std::map<uint64_t, std::shared_ptr<const void>> lent_;  // By command.
  struct Mapping {
    std::weak_ptr<const SharedMemory> memory;
    bool is_there = false;
  };
  std::map<std::string, Mapping> mappings_;  // By address.
  std::mutex mapping_;                       // Held while it is asked.
  absl::Status failure_;
  std::deque<proto::StepDone> steps_;
  std::map<uint64_t, std::vector<proto::TensorPart>> parts_;
  std::map<uint64_t, std::vector<proto::SavedFiles>> saved_;
  std::set<std::string> blobs_;
  // Declared last, so that it is destroyed first, and its events with it.
  const std::unique_ptr<WorkerLink> link_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_RUNTIME_REMOTE_WORKER_H_
