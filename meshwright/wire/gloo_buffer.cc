#include "meshwright/wire/gloo_buffer.h"

#include <chrono>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>

#include "meshwright/base/steady_time.h"

namespace meshwright {
namespace {

using Base = gloo::transport::tcp::UnboundBuffer;

}  // namespace

GlooBuffer::GlooBuffer(const GlooMesh& mesh, void* data, size_t bytes,
                       bool sends)
    : Base(mesh, data, bytes), sends_(sends) {}

std::unique_ptr<GlooBuffer> GlooBuffer::Send(
    const GlooMesh& mesh, int to, uint64_t slot,
    absl::Span<const std::byte> bytes) {
  auto* data = const_cast<std::byte*>(bytes.data());
  std::unique_ptr<GlooBuffer> buffer(
      new GlooBuffer(mesh, data, bytes.size(), /*sends=*/true));
  try {
    buffer->send(to, slot, 0, bytes.size());
  } catch (const std::exception&) {
    buffer->refused_ = true;
  }
  return buffer;
}

std::unique_ptr<GlooBuffer> GlooBuffer::Receive(const GlooMesh& mesh, int from,
                                                uint64_t slot,
                                                absl::Span<std::byte> into) {
  std::unique_ptr<GlooBuffer> buffer(
      new GlooBuffer(mesh, into.data(), into.size(), /*sends=*/false));
  try {
    buffer->Base::recv(from, slot, 0, into.size());
  } catch (const std::exception&) {
    buffer->refused_ = true;
  }
  return buffer;
}

GlooBuffer::State GlooBuffer::LockedState() const {
  if (recvCompletions_ > 0 || sendCompletions_ > 0) return State::kDone;
  return refused_ || ex_ != nullptr ? State::kFailed : State::kUnderWay;
}

GlooBuffer::State GlooBuffer::state() {
  const std::lock_guard lock(m_);
  return LockedState();
}

GlooBuffer::State GlooBuffer::Wait(absl::Time deadline,
                                   const std::function<bool()>& give_up) {
  std::unique_lock lock(m_);
  std::condition_variable& changed = sends_ ? sendCv_ : recvCv_;
  while (LockedState() == State::kUnderWay && !give_up()) {
    if (SteadyNow() >= deadline) break;
    changed.wait_until(lock, AsSteady(deadline));
  }
  return LockedState();
}

void GlooBuffer::Wake() {
  const std::lock_guard lock(m_);
  recvCv_.notify_all();
  sendCv_.notify_all();
}

void CloseGlooMesh(const GlooMesh& mesh) {
  // A wait that times out closes the connections; Gloo has no other way of
  // closing them that also wakes up threads that wait.
  try {
    Base(mesh, nullptr, 0).waitRecv(nullptr, std::chrono::milliseconds(0));
  } catch (const std::exception&) {
  }
}

}  // namespace meshwright
