#include "meshwright/engine/fake_stream.h"

namespace meshwright {

class FakeStream::OutcomeEvent final : public Event {
 public:
  explicit OutcomeEvent(std::shared_ptr<const Outcome> outcome)
      : outcome_(std::move(outcome)) {}

  absl::Status Await() override {
    outcome_->done.WaitForNotification();
    return outcome_->status;
  }
  bool IsReady() override { return outcome_->done.HasBeenNotified(); }

 private:
  std::shared_ptr<const Outcome> outcome_;
};

FakeStream::FakeStream() : thread_([this] { Work(); }) {}

FakeStream::~FakeStream() {
  {
    const absl::MutexLock lock(&mutex_);
    closing_ = true;
  }
  thread_.join();
}

EventPtr FakeStream::Enqueue(Task task) {
  auto outcome = std::make_shared<Outcome>();
  {
    const absl::MutexLock lock(&mutex_);
    tasks_.emplace_back(std::move(task), outcome);
  }
  return std::make_unique<OutcomeEvent>(std::move(outcome));
}

void FakeStream::Work() {
  const auto has_work = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return closing_ || !tasks_.empty();
  };
  while (true) {
    std::pair<Task, std::shared_ptr<Outcome>> next;
    {
      const absl::MutexLock lock(&mutex_, absl::Condition(&has_work));
      if (tasks_.empty()) return;
      next = std::move(tasks_.front());
      tasks_.pop_front();
    }
    next.second->status = next.first();
    next.first = nullptr;  // Lets go of buffers before anyone is told.
    next.second->done.Notify();
  }
}

}  // namespace meshwright
