#include "meshwright/wire/transport_wire.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "meshwright/base/host_memory.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/wire/message_group.h"
#include "meshwright/wire/slot.h"

namespace meshwright {
namespace {

class TransferArrival : public Arrival {
 public:
  TransferArrival(std::unique_ptr<Transfer> transfer, OwnedBytes bytes,
                  const Health* health, int from)
      : bytes_(std::move(bytes)),
        transfer_(std::move(transfer)),
        health_(*health),
        from_(from) {}
  ~TransferArrival() override { Await().IgnoreError(); }

  absl::Status Await() override {
    const std::lock_guard lock(mutex_);
    if (!awaited_) status_ = transfer_->Await();
    awaited_ = true;
    return status_;
  }
  bool IsReady() override {
    return awaited_ || transfer_->IsReady() || !health_.StatusOf(from_).ok();
  }

  OwnedBytes bytes() const override { return bytes_; }

 private:
  const OwnedBytes bytes_;
  const std::unique_ptr<Transfer> transfer_;
  const Health& health_;
  const int from_;
  std::mutex mutex_;  // Of the callers that wait.
  std::atomic<bool> awaited_ = false;
  absl::Status status_;
};

class FailedArrival : public Arrival {
 public:
  explicit FailedArrival(absl::Status status) : status_(std::move(status)) {}
  absl::Status Await() override { return status_; }
  bool IsReady() override { return true; }
  OwnedBytes bytes() const override { return {}; }

 private:
  const absl::Status status_;
};

absl::Status CheckRank(int rank, int size) {
  if (rank >= 0 && rank < size) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("there is no worker ", rank, " among ", size));
}

}  // namespace

TransportWire::TransportWire(std::unique_ptr<Transport> transport)
    : transport_(std::move(transport)), health_(transport_->health()) {}

absl::StatusOr<Group*> TransportWire::GroupOf(absl::Span<const int> ranks) {
  std::vector<int> members(ranks.begin(), ranks.end());
  const bool ascends =
      std::ranges::adjacent_find(members, std::ranges::greater_equal()) ==
      members.end();
  if (!ascends || !std::ranges::binary_search(members, rank()) ||
      members.front() < 0 || members.back() >= size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "worker ", rank(), " of ", size(), " cannot be in a group of workers ",
        absl::StrJoin(ranks, ", ")));
  }
  MW_RETURN_IF_ERROR(health_.status());
  const std::lock_guard lock(mutex_);
  std::unique_ptr<Group>& group = groups_[members];
  if (group == nullptr) group = MakeGroup(std::move(members));
  return group.get();
}

std::unique_ptr<Group> TransportWire::MakeGroup(std::vector<int> ranks) {
  return std::make_unique<MessageGroup>(transport_.get(), std::move(ranks));
}

uint64_t TransportWire::SlotOf(const MessageKey& key, size_t bytes) {
  return internal::MixSlot({1, static_cast<uint64_t>(key.step),
                            static_cast<uint64_t>(key.tensor),
                            static_cast<uint64_t>(key.micro_batch),
                            static_cast<uint64_t>(key.part), bytes});
}

MessageMemory TransportWire::Allocate(int, size_t bytes) {
  const std::shared_ptr<char> memory =
      AllocateHostMemory(static_cast<int64_t>(bytes));
  return {.bytes = {reinterpret_cast<std::byte*>(memory.get()), bytes},
          .owner = memory};
}

absl::Status TransportWire::Send(int to, const MessageKey& key,
                                 OwnedBytes bytes) {
  MW_RETURN_IF_ERROR(CheckRank(to, size()));
  const uint64_t slot = SlotOf(key, bytes.bytes.size());
  return transport_->Park(to, slot, std::move(bytes));
}

std::unique_ptr<Arrival> TransportWire::Receive(int from, const MessageKey& key,
                                                size_t bytes) {
  if (absl::Status checked = CheckRank(from, size()); !checked.ok()) {
    return std::make_unique<FailedArrival>(std::move(checked));
  }
  MessageMemory memory = TransportWire::Allocate(from, bytes);
  std::unique_ptr<Transfer> transfer =
      transport_->Receive(from, SlotOf(key, bytes), memory.bytes);
  return std::make_unique<TransferArrival>(
      std::move(transfer), OwnedBytes{memory.bytes, std::move(memory.owner)},
      &health_, from);
}

void TransportWire::Abort(absl::Status why) { health_.Abort(std::move(why)); }

}  // namespace meshwright
