#include "meshwright/service/regions.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>

namespace meshwright {
namespace {

// How often it is looked whether the call was given up.
constexpr std::chrono::milliseconds kReleaseLook(20);

}  // namespace

struct Regions::Held {
  std::shared_ptr<const SharedMemory> memory;
  std::mutex mutex;  // Guards the rest.
  std::condition_variable released;
  bool is_released = false;
};

Regions::Regions(std::shared_ptr<const SharedMemory> memory)
    : state_(std::make_shared<Held>()) {
  state_->memory = std::move(memory);
  if (state_->memory == nullptr) return;
  held_ =
      std::shared_ptr<const void>(state_.get(), [state = state_](const void*) {
        {
          const std::lock_guard lock(state->mutex);
          state->is_released = true;
        }
        state->released.notify_all();
      });
}

absl::StatusOr<absl::Span<std::byte>> Regions::Find(
    const proto::Region& region) const {
  if (state_->memory == nullptr) {
    return absl::InvalidArgumentError("no memory is shared with this client");
  }
  return state_->memory->Find(region.offset(), region.size());
}

void Regions::AwaitRelease(const JobCall& call) {
  if (held_ == nullptr) return;
  held_ = nullptr;
  std::unique_lock lock(state_->mutex);
  while (!state_->released.wait_for(lock, kReleaseLook,
                                    [&] { return state_->is_released; })) {
    if (call.cancelled()) return;
  }
}

}  // namespace meshwright
