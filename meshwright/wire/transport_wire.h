// A wire over a transport of messages.
#ifndef MESHWRIGHT_WIRE_TRANSPORT_WIRE_H_
#define MESHWRIGHT_WIRE_TRANSPORT_WIRE_H_

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "meshwright/wire/group.h"
#include "meshwright/wire/transport.h"
#include "meshwright/wire/wire.h"

namespace meshwright {

class TransportWire : public Wire {
 public:
  explicit TransportWire(std::unique_ptr<Transport> transport);

  int rank() const override { return health_.rank(); }
  int size() const override { return health_.size(); }
  const std::string& name(int rank) const override {
    return health_.name(rank);
  }
  absl::StatusOr<Group*> GroupOf(absl::Span<const int> ranks) override;
  MessageMemory Allocate(int to, size_t bytes) override;
  absl::Status Send(int to, const MessageKey& key, OwnedBytes bytes) override;
  std::unique_ptr<Arrival> Receive(int from, const MessageKey& key,
                                   size_t bytes) override;
  void Abort(absl::Status why) override;

 protected:
  Transport& transport() { return *transport_; }
  // Of a message of so many bytes. The size is included so that peers that
  // disagree about it never match.
  static uint64_t SlotOf(const MessageKey& key, size_t bytes);
  bool HasRank(int rank) const { return rank >= 0 && rank < size(); }
  // The group of these ranks, which are in order.
  virtual std::unique_ptr<Group> MakeGroup(std::vector<int> ranks);

 private:
  const std::unique_ptr<Transport> transport_;
  Health& health_;
  std::mutex mutex_;
  absl::flat_hash_map<std::vector<int>, std::unique_ptr<Group>> groups_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_WIRE_TRANSPORT_WIRE_H_
