// A queue of messages that holds a bounded number of bytes.
//
//   MessageQueue<proto::WorkerReport> queue(8 << 20);
//   queue.Push(report);             // Waits while it holds 8 MiB or more.
//   queue.Pop();                    // Waits for a message.
//   queue.Close(absl::UnavailableError("..."));
#ifndef MESHWRIGHT_RUNTIME_MESSAGE_QUEUE_H_
#define MESHWRIGHT_RUNTIME_MESSAGE_QUEUE_H_

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace meshwright {

// Thread-safe.
template <typename Message>
class MessageQueue {
 public:
  explicit MessageQueue(int64_t max_bytes) : max_bytes_(max_bytes) {}

  // In the order of the calls. Returns the error of Close() once it is closed.
  absl::Status Push(Message message) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return bytes_ < max_bytes_ || !closed_.ok(); });
    return Append(std::move(message));
  }
  // Does not wait: the bound may be exceeded afterwards.
  absl::Status PushNow(Message message) {
    std::unique_lock lock(mutex_);
    return Append(std::move(message));
  }

  // Waits. Returns what is left in a closed queue first, then the error of
  // Close().
  absl::StatusOr<Message> Pop() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !messages_.empty() || !closed_.ok(); });
    if (messages_.empty()) return closed_;
    return Take();
  }
  std::optional<Message> TryPop() {
    std::unique_lock lock(mutex_);
    if (messages_.empty()) return std::nullopt;
    return Take();
  }

  bool HasRoom() const {
    std::unique_lock lock(mutex_);
    return bytes_ < max_bytes_;
  }
  bool IsEmpty() const {
    std::unique_lock lock(mutex_);
    return messages_.empty();
  }

  // `why` is an error. The first call counts.
  void Close(absl::Status why) {
    std::unique_lock lock(mutex_);
    if (closed_.ok()) closed_ = std::move(why);
    changed_.notify_all();
  }
  // Drops what is left.
  void Clear() {
    std::unique_lock lock(mutex_);
    messages_.clear();
    bytes_ = 0;
    changed_.notify_all();
  }

 private:
  static int64_t Bytes(const Message& message) {
    return static_cast<int64_t>(message.ByteSizeLong() + sizeof(Message));
  }

  absl::Status Append(Message message) {
    if (!closed_.ok()) return closed_;
    bytes_ += Bytes(message);
    messages_.push_back(std::move(message));
    changed_.notify_all();
    return absl::OkStatus();
  }

  Message Take() {
    Message message = std::move(messages_.front());
    messages_.pop_front();
    bytes_ -= Bytes(message);
    changed_.notify_all();
    return message;
  }

  const int64_t max_bytes_;
  mutable std::mutex mutex_;  // Guards the members below.
  std::condition_variable changed_;
  std::deque<Message> messages_;
  int64_t bytes_ = 0;
  absl::Status closed_;  // OK: open.
};

}  // namespace meshwright

#endif  // MESHWRIGHT_RUNTIME_MESSAGE_QUEUE_H_
