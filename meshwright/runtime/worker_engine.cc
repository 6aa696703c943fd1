#include "meshwright/runtime/worker_engine.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/runtime/collective_options.h"

namespace meshwright {
namespace {

// A key-value store with a prefix for this job.
ProcessTeam TeamOf(const JobSpec& spec, int member,
                   std::shared_ptr<KeyValueStore> store) {
  const std::string prefix = absl::StrCat("job", spec.id, "/engine/");
  return {.process = member,
          .processes = spec.job.workers(),
          .get =
              [=](const std::string& key, absl::Duration timeout) {
                return store->Get(prefix + key, timeout);
              },
          .set =
              [=](const std::string& key, std::string value) {
                return store->Set(prefix + key, std::move(value));
              }};
}

}  // namespace

WorkerEngine::WorkerEngine(Open open, std::unique_ptr<Client> alone)
    : open_(std::move(open)),
      platform_(alone->platform_name()),
      device_count_(alone->devices().size()),
      client_(std::move(alone)) {}

absl::Status WorkerEngine::PrepareFor(const JobSpec& spec, int member,
                                      std::shared_ptr<KeyValueStore> store) {
  const bool is_for_team =
      spec.job.SpansWorkers() && CollectivesCrossProcesses(platform_);
  if (!is_for_team && !is_of_team_ && client_ != nullptr) {
    return absl::OkStatus();
  }
  is_of_team_ = is_for_team;
  // First release the memory of the devices.
  client_ = nullptr;
  std::optional<ProcessTeam> team;
  if (is_for_team) team = TeamOf(spec, member, std::move(store));
  MW_ASSIGN_OR_RETURN(std::unique_ptr<Client> client, open_(team));
  if (client->devices().size() != device_count_) {
    return absl::InternalError(absl::StrCat("opened anew, ", platform_, " has ",
                                            client->devices().size(),
                                            " devices, not ", device_count_));
  }
  client_ = std::move(client);
  return absl::OkStatus();
}

}  // namespace meshwright
