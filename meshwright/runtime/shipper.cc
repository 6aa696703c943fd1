#include "meshwright/runtime/shipper.h"

#include <utility>

#include "meshwright/base/status_macros.h"

namespace meshwright {

Shipper::Shipper(Wire* wire) : wire_(wire), thread_([this] { Work(); }) {}

Shipper::~Shipper() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

absl::Status Shipper::Ship(const Buffer& buffer,
                           std::shared_ptr<const void> keep, int to,
                           const MessageKey& key) {
  MessageMemory memory = wire_->Allocate(to, buffer.shape().host_bytes());
  MW_ASSIGN_OR_RETURN(EventPtr read, buffer.ToHost(memory.bytes));
  {
    const std::lock_guard lock(mutex_);
    bytes_ += std::ssize(memory.bytes);
    items_.push_back(
        {std::move(read), std::move(memory), std::move(keep), to, key});
  }
  changed_.notify_all();
  return absl::OkStatus();
}

int64_t Shipper::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

void Shipper::Work() {
  while (true) {
    Item item;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return is_over_ || !items_.empty(); });
      if (items_.empty()) return;
      item = std::move(items_.front());
      items_.pop_front();
    }
    absl::Status status = item.read->Await();
    if (status.ok()) {
      status = wire_->Send(item.to, item.key,
                           {item.memory.bytes, std::move(item.memory.owner)});
    }
    if (!status.ok()) wire_->Abort(status);
  }
}

}  // namespace meshwright
