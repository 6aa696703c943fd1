#include "meshwright/wire/gloo_wire.h"

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <mutex>
#include <optional>
#include <utility>

#include "meshwright/base/status_macros.h"
#include "meshwright/wire/gloo_mesh.h"
#include "meshwright/wire/gloo_transport.h"
#include "meshwright/wire/health.h"
#include "meshwright/wire/shm_group.h"
#include "meshwright/wire/shm_messages.h"
#include "meshwright/wire/shm_neighbors.h"
#include "meshwright/wire/shm_notes.h"
#include "meshwright/wire/transport_wire.h"

namespace meshwright {
namespace {

// Gloo writes to connections that the peer may have closed.
void IgnoreBrokenPipes() {
  struct sigaction action = {};
  if (sigaction(SIGPIPE, nullptr, &action) != 0) return;
  if (action.sa_handler == SIG_DFL) std::signal(SIGPIPE, SIG_IGN);
}

class GlooWire : public TransportWire {
 public:
  GlooWire(std::shared_ptr<ShmNeighbors> neighbors,
           std::unique_ptr<Transport> transport)
      : TransportWire(std::move(transport)),
        neighbors_(std::move(neighbors)),
        messages_(neighbors_, rank()),
        notes_(neighbors_, &this->transport().health()) {}

  MessageMemory Allocate(int to, size_t bytes) override {
    if (IsShared(to, bytes)) {
      if (auto memory = messages_.Allocate(bytes)) return *std::move(memory);
    }
    return TransportWire::Allocate(to, bytes);
  }

  absl::Status Send(int to, const MessageKey& key, OwnedBytes bytes) override {
    if (!IsShared(to, bytes.bytes.size())) {
      return TransportWire::Send(to, key, std::move(bytes));
    }
    const size_t size = bytes.bytes.size();
    const std::optional<uint64_t> place = messages_.Lend(bytes.bytes.data());
    const absl::Status told =
        notes_.Send(to, SlotOf(key, size), place.value_or(kFollows));
    if (!told.ok() && place.has_value()) messages_.TakeBack(*place);
    if (!told.ok() || place.has_value()) return told;
    return TransportWire::Send(to, key, std::move(bytes));
  }

  std::unique_ptr<Arrival> Receive(int from, const MessageKey& key,
                                   size_t bytes) override {
    if (!IsShared(from, bytes)) return TransportWire::Receive(from, key, bytes);
    return std::make_unique<ShmArrival>(this, from, key, bytes);
  }

 protected:
  std::unique_ptr<Group> MakeGroup(std::vector<int> ranks) override {
    if (!neighbors_->Share(ranks)) {
      return TransportWire::MakeGroup(std::move(ranks));
    }
    return std::make_unique<ShmGroup>(neighbors_.get(), &transport().health(),
                                      std::move(ranks));
  }

 private:
  // A message in shared memory: a note says where it is.
  class ShmArrival : public Arrival {
   public:
    ShmArrival(GlooWire* wire, int from, const MessageKey& key, size_t size)
        : wire_(*wire),
          from_(from),
          key_(key),
          size_(size),
          slot_(SlotOf(key, size)) {}
    ~ShmArrival() override { Await().IgnoreError(); }

    absl::Status Await() override {
      const std::lock_guard lock(mutex_);
      if (!is_awaited_) status_ = AwaitOnce();
      is_awaited_ = true;
      return status_;
    }
    bool IsReady() override {
      if (!wire_.transport().health().StatusOf(from_).ok()) return true;
      const std::unique_lock lock(mutex_, std::try_to_lock);
      if (!lock.owns_lock()) return false;  // Somebody waits.
      if (!note_.has_value()) note_ = wire_.notes_.Take(from_, slot_);
      return is_awaited_ || note_.has_value();
    }
    OwnedBytes bytes() const override { return bytes_; }

   private:
    absl::Status AwaitOnce() {
      if (!note_.has_value()) {
        MW_ASSIGN_OR_RETURN(note_, wire_.notes_.Await(from_, slot_));
      }
      if (*note_ == kFollows) {
        const auto rest = wire_.TransportWire::Receive(from_, key_, size_);
        MW_RETURN_IF_ERROR(rest->Await());
        bytes_ = rest->bytes();
        return absl::OkStatus();
      }
      MW_ASSIGN_OR_RETURN(bytes_, wire_.messages_.Open(from_, *note_, size_));
      return absl::OkStatus();
    }

    GlooWire& wire_;
    const int from_;
    const MessageKey key_;
    const size_t size_;
    const uint64_t slot_;
    std::mutex mutex_;  // Guards the members below.
    std::optional<uint64_t> note_;
    bool is_awaited_ = false;
    absl::Status status_;
    OwnedBytes bytes_;
  };

  // A note that the message comes over Gloo after all.
  static constexpr uint64_t kFollows = ~uint64_t{0};
  // Below this, it comes over Gloo in any case.
  static constexpr size_t kSharedBytes = 1 << 10;

  // Both sides decide alike.
  bool IsShared(int with, size_t bytes) const {
    return bytes >= kSharedBytes && with != rank() && HasRank(with) &&
           std::max(with, rank()) < ShmSegment::kRings &&
           neighbors_->Share({rank(), with});
  }

  const std::shared_ptr<ShmNeighbors> neighbors_;
  ShmMessages messages_;
  ShmNotes notes_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Wire>> ConnectGlooWire(WireOptions options) {
  IgnoreBrokenPipes();
  auto health =
      std::make_unique<Health>(options.rank, options.names, options.timeout);
  MW_ASSIGN_OR_RETURN(std::shared_ptr<ShmNeighbors> neighbors,
                      ShmNeighbors::Find(options, *health));
  MW_ASSIGN_OR_RETURN(GlooMesh mesh, ConnectGlooMesh(options, *health));
  health->AddListener([neighbors] { neighbors->WakeAll(); });
  return std::make_unique<GlooWire>(
      std::move(neighbors),
      std::make_unique<GlooTransport>(std::move(health), std::move(mesh)));
}

}  // namespace meshwright
