#include "meshwright/engine/fake_stream.h"

namespace meshwright {

class FakeStream::OutcomeEvent final : public Event {
 public:
  explicit OutcomeEvent(std::shared_ptr<Outcome> outcome)
      : outcome_(std::move(outcome)) {}

  absl::Status Await() override {
    std::unique_lock lock(outcome_->mutex);
    outcome_->changed.wait(lock,
                           [this] { return outcome_->status.has_value(); });
    return *outcome_->status;
  }
  bool IsReady() override {
    const std::lock_guard lock(outcome_->mutex);
    return outcome_->status.has_value();
  }

 private:
  std::shared_ptr<Outcome> outcome_;
};

FakeStream::FakeStream() : thread_([this] { Work(); }) {}

FakeStream::~FakeStream() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

EventPtr FakeStream::Enqueue(Task task) {
  auto outcome = std::make_shared<Outcome>();
  {
    const std::lock_guard lock(mutex_);
    tasks_.emplace_back(std::move(task), outcome);
  }
  changed_.notify_one();
  return std::make_unique<OutcomeEvent>(std::move(outcome));
}

void FakeStream::Work() {
  while (true) {
    std::pair<Task, std::shared_ptr<Outcome>> next;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return closing_ || !tasks_.empty(); });
      if (tasks_.empty()) return;
      next = std::move(tasks_.front());
      tasks_.pop_front();
    }
    absl::Status status = next.first();
    next.first = nullptr;  // Releases buffers before anyone is notified.
    {
      const std::lock_guard lock(next.second->mutex);
      next.second->status = std::move(status);
    }
    next.second->changed.notify_all();
  }
}

}  // namespace meshwright
