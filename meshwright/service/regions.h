// What one call uses of the memory that its client shares.
//
//   Regions regions(memory);
//   MW_ASSIGN_OR_RETURN(absl::Span<std::byte> bytes, regions.Find(region));
//   tensor.owner = regions.Hold();
//   regions.AwaitRelease(call);   // Before it is answered.
#ifndef MESHWRIGHT_SERVICE_REGIONS_H_
#define MESHWRIGHT_SERVICE_REGIONS_H_

#include <cstddef>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "meshwright/base/shared_memory.h"
#include "meshwright/service/job_service.h"
#include "proto/service.pb.h"

namespace meshwright {

// Holds may outlive it, and are let go on any thread.
class Regions {
 public:
  // Null: nothing is shared.
  explicit Regions(std::shared_ptr<const SharedMemory> memory);

  // kInvalidArgument when it is not there.
  absl::StatusOr<absl::Span<std::byte>> Find(const proto::Region& region) const;
  // Keeps the memory.
  std::shared_ptr<const void> Hold() const { return held_; }
  // Until nobody holds it any more, or the call is given up: then the client
  // leaves its regions alone.
  void AwaitRelease(const JobCall& call);

 private:
  struct Held;

  const std::shared_ptr<Held> state_;
  std::shared_ptr<const void> held_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_SERVICE_REGIONS_H_
