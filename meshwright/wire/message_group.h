// Collectives built on messages, with direct sends between members.
//
// A small all-reduce sends all data to everyone. A larger one is done in
// chunks: each member reduces its slice of a chunk and sends the result to the
// others, while the next chunk is in flight.
#ifndef MESHWRIGHT_WIRE_MESSAGE_GROUP_H_
#define MESHWRIGHT_WIRE_MESSAGE_GROUP_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "meshwright/base/element_type.h"
#include "meshwright/wire/group.h"
#include "meshwright/wire/transport.h"

namespace meshwright {

class MessageGroup : public Group {
 public:
  // `ranks` ascend and contain the transport's own, which must outlive the
  // group.
  MessageGroup(Transport* transport, std::vector<int> ranks);

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(ranks_.size()); }

  absl::Status AllReduce(ReduceOp op, ElementType type,
                         absl::Span<std::byte> data, uint32_t tag) override;
  absl::Status ReduceScatter(ReduceOp op, ElementType type,
                             absl::Span<const std::byte> in,
                             absl::Span<std::byte> out, uint32_t tag) override;
  absl::Status AllGather(absl::Span<const std::byte> in,
                         absl::Span<std::byte> out, uint32_t tag) override;
  absl::Status Exchange(absl::Span<const Outgoing> sends,
                        absl::Span<const Incoming> receives,
                        uint32_t tag) override;

 private:
  friend class MessageReduction;

  absl::Status ReduceAtOnce(ReduceOp op, ElementType type,
                            absl::Span<std::byte> data, uint64_t slot);
  // Messages between two members use `slot` mixed with their size.
  absl::Status ExchangeOn(uint64_t slot, absl::Span<const Outgoing> sends,
                          absl::Span<const Incoming> receives);

  Transport* const transport_;
  const std::vector<int> ranks_;
  const int rank_;
  const uint64_t slot_;  // Of the group.
};

}  // namespace meshwright

#endif  // MESHWRIGHT_WIRE_MESSAGE_GROUP_H_
