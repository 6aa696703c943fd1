// One process of several that run programs together: their devices are one
// platform's, and collectives go between them (on NVIDIA through NCCL).
//
//   // The second of two workers; `store` is one that both of them reach.
//   ProcessTeam{.process = 1,
//               .processes = 2,
//               .get = [store](const std::string& key, absl::Duration timeout)
//               {
//                 return store->Get(key, timeout);
//               },
//               .set = ...};
#ifndef MESHWRIGHT_ENGINE_PROCESS_TEAM_H_
#define MESHWRIGHT_ENGINE_PROCESS_TEAM_H_

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace meshwright {

struct ProcessTeam {
  int process = 0;  // Index of this process, from 0.
  int processes = 1;

  // The key-value store by which the processes find each other: addresses when
  // a client is opened, ids of NCCL communicators when these are first used.
  // Called from any thread, until the client and everything it made are
  // destroyed. `get` waits, and returns kDeadlineExceeded after `timeout`.
  std::function<absl::StatusOr<std::string>(const std::string& key,
                                            absl::Duration timeout)>
      get = nullptr;
  std::function<absl::Status(const std::string& key, std::string value)> set =
      nullptr;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_ENGINE_PROCESS_TEAM_H_
