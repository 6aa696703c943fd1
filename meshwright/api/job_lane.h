// What jobs that are beside each other share: calls of any of them run in turn,
// on one thread, so that all devices run their steps in one order.
#ifndef MESHWRIGHT_API_JOB_LANE_H_
#define MESHWRIGHT_API_JOB_LANE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/api/call_thread.h"
#include "meshwright/api/planned_runner.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/engine/client.h"

namespace meshwright {

class JobLane {
 public:
  // Of this process's devices: the same client for all jobs that it has enough
  // devices for. Called on the thread.
  absl::StatusOr<Client*> ClientFor(const std::string& platform,
                                    int64_t devices) {
    for (const Opened& one : opened_) {
      if (one.platform == platform &&
          std::ssize(one.client->devices()) >= devices) {
        return one.client.get();
      }
    }
    MW_ASSIGN_OR_RETURN(std::unique_ptr<Client> client,
                        MakeClientFor(platform, devices));
    opened_.push_back({platform, std::move(client)});
    return opened_.back().client.get();
  }

  CallTurns turns;

 private:
  struct Opened {
    std::string platform;
    std::unique_ptr<Client> client;
  };
  std::vector<Opened> opened_;

 public:
  CallThread thread;  // Declared last, so that it is destroyed first.
};

}  // namespace meshwright

#endif  // MESHWRIGHT_API_JOB_LANE_H_
