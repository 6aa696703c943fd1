// A group of processes with traffic statistics.
#ifndef MESHWRIGHT_CROSSING_METERED_GROUP_H_
#define MESHWRIGHT_CROSSING_METERED_GROUP_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "meshwright/crossing/cross_round.h"
#include "meshwright/wire/group.h"

namespace meshwright {

// Group (wire/group.h) with a fixed tag; its calls are sequential.
class MeteredGroup {
 public:
  // Both must outlive it.
  MeteredGroup(Group* group, uint32_t tag, CrossTrafficMeter* meter)
      : group_(*group), tag_(tag), meter_(*meter) {}

  int rank() const { return group_.rank(); }
  int size() const { return group_.size(); }

  absl::Status AllReduce(ReduceOp op, ElementType type,
                         absl::Span<std::byte> data);
  absl::Status ReduceScatter(ReduceOp op, ElementType type,
                             absl::Span<const std::byte> in,
                             absl::Span<std::byte> out);
  absl::Status AllGather(absl::Span<const std::byte> in,
                         absl::Span<std::byte> out);
  absl::Status Exchange(absl::Span<const Group::Outgoing> sends,
                        absl::Span<const Group::Incoming> receives);

 private:
  Group& group_;
  const uint32_t tag_;
  CrossTrafficMeter& meter_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_CROSSING_METERED_GROUP_H_
