// The devices of a worker: opened alone, or together with those of a job's
// other workers if the platform's own collectives span processes.
//
//   WorkerEngine engine(open, std::move(client));
//   MW_RETURN_IF_ERROR(engine.PrepareFor(spec, member, store));
//   engine.client()->Compile(...);
#ifndef MESHWRIGHT_RUNTIME_WORKER_ENGINE_H_
#define MESHWRIGHT_RUNTIME_WORKER_ENGINE_H_

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "meshwright/engine/client.h"
#include "meshwright/engine/process_team.h"
#include "meshwright/runtime/job_spec.h"
#include "meshwright/wire/key_value_store.h"

namespace meshwright {

class WorkerEngine {
 public:
  // Opens the devices; without a team, those of this process alone.
  using Open = std::function<absl::StatusOr<std::unique_ptr<Client>>(
      const std::optional<ProcessTeam>& team)>;

  // `alone` is what `open` returned without a team.
  WorkerEngine(Open open, std::unique_ptr<Client> alone);

  // Null after PrepareFor() has failed.
  Client* client() const { return client_.get(); }

  // Opens the devices anew if the job needs them differently: together with its
  // other workers, which all do so, if one of its stages spans workers;
  // otherwise alone. Requires: everything that the client made is destroyed.
  // Single-threaded.
  absl::Status PrepareFor(const JobSpec& spec, int member,
                          std::shared_ptr<KeyValueStore> store);
  bool is_of_team() const { return is_of_team_; }

 private:
  const Open open_;
  const std::string platform_;
  const size_t device_count_;
  std::atomic<bool> is_of_team_ = false;
  std::unique_ptr<Client> client_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_RUNTIME_WORKER_ENGINE_H_
