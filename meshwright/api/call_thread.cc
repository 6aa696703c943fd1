#include "meshwright/api/call_thread.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace meshwright {
namespace {

// How often it is looked whether a call was given up.
constexpr std::chrono::milliseconds kTurnLook(20);

absl::Status GivenUp() { return absl::CancelledError("the client has gone"); }

}  // namespace

CallThread::CallThread() : thread_([this] { Run(); }) {}

CallThread::~CallThread() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
    for (const std::shared_ptr<Task>& task : tasks_) {
      task->is_done = true;
      task->status = absl::CancelledError("it was stopped");
    }
    tasks_.clear();
  }
  changed_.notify_all();
  thread_.join();
}

void CallThread::Run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return is_over_ || !tasks_.empty(); });
    if (is_over_) return;
    const std::shared_ptr<Task> task = std::move(tasks_.front());
    tasks_.pop_front();
    is_working_ = true;
    lock.unlock();
    absl::Status status = task->work();
    task->work = nullptr;  // What it owns is destroyed here.
    lock.lock();
    is_working_ = false;
    task->is_done = true;
    task->status = std::move(status);
    changed_.notify_all();
  }
}

std::shared_ptr<CallThread::Task> CallThread::Add(Work work) {
  auto task = std::make_shared<Task>(Task{.work = std::move(work)});
  {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(task);
  }
  changed_.notify_all();
  return task;
}

void CallThread::Post(Work work) { Add(std::move(work)); }

bool CallThread::is_busy() {
  const std::lock_guard lock(mutex_);
  return is_working_ || !tasks_.empty();
}

absl::Status CallThread::Do(const JobCall& call, Work work) {
  if (call.cancelled()) return GivenUp();
  const std::shared_ptr<Task> task = Add(std::move(work));
  std::unique_lock lock(mutex_);
  while (true) {
    if (changed_.wait_for(lock, kTurnLook, [&] { return task->is_done; })) {
      return task->status;
    }
    lock.unlock();
    const bool is_given_up = call.cancelled();
    lock.lock();
    if (!is_given_up || task->is_done) continue;
    std::erase(tasks_, task);
    return GivenUp();
  }
}

absl::StatusOr<CallTurns::Turn> CallTurns::Take(const JobCall& call) {
  Turn turn(mutex_, std::defer_lock);
  while (!turn.try_lock_for(kTurnLook)) {
    if (call.cancelled()) return GivenUp();
  }
  if (call.cancelled()) return GivenUp();
  return turn;
}

}  // namespace meshwright
