// Collectives among some of the workers of a job.
//
//   MW_ASSIGN_OR_RETURN(Group* group, wire->GroupOf({0, 2, 3}));
//   MW_RETURN_IF_ERROR(group->AllReduce(ReduceOp::kSum, ElementType::kF32,
//                                       AsWritableBytes(values), /*tag=*/7));
//
// All members call the same functions with the same tags. Calls with different
// tags may run concurrently, in any order; a tag may be reused once its
// previous call has returned on this member. Errors name the member to blame:
// kUnavailable if it is lost, kDeadlineExceeded if it does not answer in time.
// After an error the group cannot be used any more.
#ifndef MESHWRIGHT_WIRE_GROUP_H_
#define MESHWRIGHT_WIRE_GROUP_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "meshwright/base/element_type.h"

namespace meshwright {

enum class ReduceOp : uint8_t { kSum, kProduct, kMax, kMin, kAnd, kOr };

// Thread-safe.
class Group {
 public:
  virtual ~Group() = default;

  virtual int rank() const = 0;  // Within the group.
  virtual int size() const = 0;

  // Replaces `data`, on every member, by the reduction of all members' data.
  virtual absl::Status AllReduce(ReduceOp op, ElementType type,
                                 absl::Span<std::byte> data, uint32_t tag) = 0;
  // `in` is size() blocks; `out` becomes the reduction of block rank() over all
  // members.
  virtual absl::Status ReduceScatter(ReduceOp op, ElementType type,
                                     absl::Span<const std::byte> in,
                                     absl::Span<std::byte> out,
                                     uint32_t tag) = 0;
  // `out` becomes all members' `in`, concatenated.
  virtual absl::Status AllGather(absl::Span<const std::byte> in,
                                 absl::Span<std::byte> out, uint32_t tag) = 0;
  // Sends block i of `in` to member i; `out` becomes what was received, by
  // sender.
  absl::Status AllToAll(absl::Span<const std::byte> in,
                        absl::Span<std::byte> out, uint32_t tag);

  // Sends and receives of arbitrary sizes, which both sides know. The member
  // itself may be among its peers. At most one message in each direction
  // between two members.
  struct Outgoing {
    int to = 0;
    absl::Span<const std::byte> bytes = {};
  };
  struct Incoming {
    int from = 0;
    absl::Span<std::byte> bytes = {};
  };
  virtual absl::Status Exchange(absl::Span<const Outgoing> sends,
                                absl::Span<const Incoming> receives,
                                uint32_t tag) = 0;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_WIRE_GROUP_H_
