#include "meshwright/wire/memory_wire.h"

#include <mutex>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "meshwright/wire/health.h"
#include "meshwright/wire/mailbox.h"
#include "meshwright/wire/transport.h"
#include "meshwright/wire/transport_wire.h"

namespace meshwright {
namespace {

// State that the wires share.
class MemoryHub {
 public:
  explicit MemoryHub(int count) : workers_(count) {}

  Mailbox& mailbox() { return mailbox_; }

  void Join(Health* worker) {
    const std::lock_guard lock(mutex_);
    workers_[worker->rank()] = worker;
  }

  void Leave(int rank) {
    mailbox_.Forget(rank);
    const std::lock_guard lock(mutex_);
    workers_[rank] = nullptr;
    for (Health* worker : workers_) {
      if (worker != nullptr) worker->Leave(rank);
    }
  }

  // Tells the others about a failure.
  void Tell(const Health& from) {
    const absl::Status told = from.told();
    const std::lock_guard lock(mutex_);
    for (Health* worker : workers_) {
      if (worker != nullptr && worker != &from) {
        worker->Fail(told).IgnoreError();
      }
    }
  }

 private:
  Mailbox mailbox_;
  // A worker that is told about a failure calls back here at once to tell the
  // others.
  std::recursive_mutex mutex_;
  std::vector<Health*> workers_;
};

class MemoryTransport : public Transport {
 public:
  MemoryTransport(std::shared_ptr<MemoryHub> hub, int rank,
                  std::vector<std::string> names, absl::Duration timeout)
      : hub_(std::move(hub)), health_(rank, std::move(names), timeout) {
    health_.AddListener([this] { OnChange(); });
    hub_->Join(&health_);
  }
  ~MemoryTransport() override { hub_->Leave(health_.rank()); }

  Health& health() override { return health_; }
  std::unique_ptr<Transfer> Send(int to, uint64_t slot,
                                 absl::Span<const std::byte> bytes) override {
    return hub_->mailbox().Send({health_.rank(), to, slot}, bytes, health_);
  }
  std::unique_ptr<Transfer> Receive(int from, uint64_t slot,
                                    absl::Span<std::byte> into) override {
    return hub_->mailbox().Receive({from, health_.rank(), slot}, into, health_);
  }
  absl::Status Park(int to, uint64_t slot, OwnedBytes bytes) override {
    return hub_->mailbox().Park({health_.rank(), to, slot}, std::move(bytes),
                                health_);
  }

 private:
  void OnChange() {
    hub_->mailbox().WakeAll();
    if (!health_.status().ok()) hub_->Tell(health_);
  }

  const std::shared_ptr<MemoryHub> hub_;
  Health health_;
};

}  // namespace

std::vector<std::unique_ptr<Wire>> MakeMemoryWires(int count,
                                                   absl::Duration timeout) {
  const auto hub = std::make_shared<MemoryHub>(count);
  std::vector<std::string> names;
  for (int rank = 0; rank < count; ++rank) {
    names.push_back(absl::StrCat("worker ", rank));
  }
  std::vector<std::unique_ptr<Wire>> wires;
  for (int rank = 0; rank < count; ++rank) {
    wires.push_back(std::make_unique<TransportWire>(
        std::make_unique<MemoryTransport>(hub, rank, names, timeout)));
  }
  return wires;
}

}  // namespace meshwright
