#include "meshwright/wire/gloo_transport.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/base/steady_time.h"
#include "meshwright/wire/slot.h"

namespace meshwright {
namespace {

using State = GlooBuffer::State;

// How often the keeper thread checks without being woken.
constexpr absl::Duration kKeeperPeriod = absl::Milliseconds(10);
// How long a worker that leaves, or has failed, waits until the others have
// received what it sent.
constexpr absl::Duration kLeavePeriod = absl::Seconds(1);
constexpr absl::Duration kFailPeriod = absl::Milliseconds(200);

const uint64_t kGoodbyeSlot = internal::MixSlot({0, 1});
const uint64_t kAnswerSlot = internal::MixSlot({0, 2});

class GlooTransfer : public Transfer {
 public:
  GlooTransfer(GlooTransport* transport, std::unique_ptr<GlooBuffer> buffer,
               int peer)
      : transport_(transport), buffer_(std::move(buffer)), peer_(peer) {}

  absl::Status Await() override { return transport_->Await(*buffer_, peer_); }
  bool IsReady() override { return buffer_->state() != State::kUnderWay; }

 private:
  GlooTransport* const transport_;
  const std::unique_ptr<GlooBuffer> buffer_;
  const int peer_;
};

}  // namespace

GlooTransport::GlooTransport(std::unique_ptr<Health> health, GlooMesh mesh)
    : health_(std::move(health)),
      mesh_(std::move(mesh)),
      farewells_(health_->size()) {
  health_->AddListener([this] { WakeAll(); });
  for (int peer = 0; peer < health_->size(); ++peer) {
    if (peer == health_->rank()) continue;
    Farewell& farewell = farewells_[peer];
    farewell.hears =
        GlooBuffer::Receive(mesh_, peer, kGoodbyeSlot, farewell.heard.bytes());
    farewell.hears_answer = GlooBuffer::Receive(mesh_, peer, kAnswerSlot, {});
  }
  keeper_ = std::thread([this] { Keep(); });
}

GlooTransport::~GlooTransport() {
  {
    const std::lock_guard lock(keeper_mutex_);
    over_ = true;
    asked_.notify_one();
  }
  keeper_.join();
}

std::unique_ptr<Transfer> GlooTransport::Send(
    int to, uint64_t slot, absl::Span<const std::byte> bytes) {
  if (to == health_->rank()) {
    return to_self_.Send({to, to, slot}, bytes, *health_);
  }
  return std::make_unique<GlooTransfer>(
      this, GlooBuffer::Send(mesh_, to, slot, bytes), to);
}

std::unique_ptr<Transfer> GlooTransport::Receive(int from, uint64_t slot,
                                                 absl::Span<std::byte> into) {
  if (from == health_->rank()) {
    return to_self_.Receive({from, from, slot}, into, *health_);
  }
  return std::make_unique<GlooTransfer>(
      this, GlooBuffer::Receive(mesh_, from, slot, into), from);
}

absl::Status GlooTransport::Park(int to, uint64_t slot, OwnedBytes bytes) {
  if (to == health_->rank()) {
    return to_self_.Park({to, to, slot}, std::move(bytes), *health_);
  }
  MW_RETURN_IF_ERROR(health_->StatusOf(to));
  auto buffer = GlooBuffer::Send(mesh_, to, slot, bytes.bytes);
  switch (buffer->state()) {
    case State::kDone:
      break;
    case State::kFailed:
      return Blame(to);
    case State::kUnderWay:
      const std::lock_guard lock(keeper_mutex_);
      parked_.push_back({std::move(buffer), std::move(bytes.owner)});
      break;
  }
  return absl::OkStatus();
}

absl::Status GlooTransport::Await(GlooBuffer& buffer, int peer) {
  State state = buffer.state();
  if (state == State::kUnderWay) {
    {
      const std::lock_guard lock(waiting_mutex_);
      waiting_.insert(&buffer);
    }
    const absl::Time deadline = SteadyNow() + health_->timeout();
    state =
        buffer.Wait(deadline, [&] { return !health_->StatusOf(peer).ok(); });
    const std::lock_guard lock(waiting_mutex_);
    waiting_.erase(&buffer);
  }
  if (state == State::kDone) return absl::OkStatus();
  if (state == State::kFailed) return Blame(peer);
  const absl::Status status = health_->StatusOf(peer);
  return status.ok() ? health_->FailAsSilent(peer) : health_->Fail(status);
}

absl::Status GlooTransport::Blame(int peer) {
  // A goodbye, if there was one, came before the connection was closed.
  LookAt(peer);
  const absl::Status status = health_->StatusOf(peer);
  if (!status.ok()) return health_->Fail(status);
  return health_->FailAsGone(peer, "connection closed");
}

void GlooTransport::LookAt(int peer) {
  absl::Status heard;
  {
    const std::lock_guard lock(farewell_mutex_);
    Farewell& farewell = farewells_[peer];
    if (farewell.hears == nullptr) return;
    const State state = farewell.hears->state();
    if (state == State::kUnderWay) return;
    farewell.hears = nullptr;
    if (state == State::kDone) {
      heard = farewell.heard.status();
      farewell.answers = GlooBuffer::Send(mesh_, peer, kAnswerSlot, {});
    } else {
      heard = absl::UnavailableError(
          absl::StrCat(health_->name(peer), " is gone: connection closed"));
    }
  }
  if (heard.ok()) {
    health_->Leave(peer);
  } else {
    health_->Fail(heard).IgnoreError();
  }
}

void GlooTransport::DropSent() {
  std::list<Parked> sent;
  const std::lock_guard lock(keeper_mutex_);
  for (auto parked = parked_.begin(); parked != parked_.end();) {
    const auto next = std::next(parked);
    if (parked->buffer->state() != State::kUnderWay) {
      sent.splice(sent.end(), parked_, parked);
    }
    parked = next;
  }
}

void GlooTransport::Keep() {
  bool open = true;
  while (true) {
    bool over = false;
    {
      std::unique_lock lock(keeper_mutex_);
      asked_.wait_for(lock, absl::ToChronoMilliseconds(kKeeperPeriod),
                      [this] { return poked_ || over_; });
      poked_ = false;
      over = over_;
    }
    for (int peer = 0; peer < health_->size(); ++peer) LookAt(peer);
    if (open && (over || !health_->status().ok())) {
      SayGoodbye();
      CloseGlooMesh(mesh_);
      open = false;
    }
    if (over) return;
    DropSent();
  }
}

void GlooTransport::SayGoodbye() {
  const absl::Status told = health_->told();
  {
    const std::lock_guard lock(farewell_mutex_);
    for (int peer = 0; peer < health_->size(); ++peer) {
      if (peer == health_->rank()) continue;
      Farewell& farewell = farewells_[peer];
      farewell.said = internal::Goodbye(told);
      farewell.says =
          GlooBuffer::Send(mesh_, peer, kGoodbyeSlot, farewell.said.bytes());
    }
  }
  // Closing a connection may drop messages that are still in flight.
  const absl::Time deadline =
      SteadyNow() + (told.ok() ? kLeavePeriod : kFailPeriod);
  while (!IsAnswered() && SteadyNow() < deadline) {
    absl::SleepFor(absl::Milliseconds(1));
    for (int peer = 0; peer < health_->size(); ++peer) LookAt(peer);
  }
}

bool GlooTransport::IsAnswered() {
  const std::lock_guard lock(farewell_mutex_);
  return std::ranges::none_of(farewells_, [](const Farewell& farewell) {
    return farewell.hears_answer != nullptr &&
           farewell.hears_answer->state() == State::kUnderWay;
  });
}

void GlooTransport::WakeAll() {
  {
    const std::lock_guard lock(waiting_mutex_);
    for (GlooBuffer* buffer : waiting_) buffer->Wake();
  }
  to_self_.WakeAll();
  const std::lock_guard lock(keeper_mutex_);
  poked_ = true;
  asked_.notify_one();
}

}  // namespace meshwright
