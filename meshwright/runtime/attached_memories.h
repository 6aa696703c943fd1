// Memory that clients share with the coordinator, mapped by a worker of the
// same machine.
#ifndef MESHWRIGHT_RUNTIME_ATTACHED_MEMORIES_H_
#define MESHWRIGHT_RUNTIME_ATTACHED_MEMORIES_H_

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "meshwright/base/shared_memory.h"
#include "proto/worker.pb.h"

namespace meshwright {

// Thread-safe.
class AttachedMemories {
 public:
  // kUnavailable if it is on another machine, or gone.
  absl::Status Attach(const std::string& address);
  // What has been found keeps it.
  void Detach(const std::string& address);

  struct Found {
    absl::Span<std::byte> bytes;
    std::shared_ptr<const SharedMemory> memory;
  };
  // kInvalidArgument if it is not there.
  absl::StatusOr<Found> Find(const proto::SharedRegion& region) const;

 private:
  mutable std::mutex mutex_;
  // By address. Guarded by the mutex.
  std::map<std::string, std::shared_ptr<const SharedMemory>> memories_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_RUNTIME_ATTACHED_MEMORIES_H_
