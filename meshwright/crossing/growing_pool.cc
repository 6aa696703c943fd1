#include "meshwright/crossing/growing_pool.h"

#include <utility>

namespace meshwright {

void GrowingPool::Run(std::function<void()> task) {
  {
    const std::lock_guard lock(mutex_);
    if (!finished_) {
      tasks_.push_back(std::move(task));
      if (tasks_.size() > idle_) threads_.emplace_back([this] { Work(); });
      changed_.notify_one();
      return;
    }
  }
  task();
}

void GrowingPool::Work() {
  std::unique_lock lock(mutex_);
  while (true) {
    ++idle_;
    if (idle_ == threads_.size()) all_idle_.notify_all();
    changed_.wait(lock, [this] { return finished_ || !tasks_.empty(); });
    --idle_;
    if (tasks_.empty()) return;
    std::function<void()> task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    task();
    task = nullptr;
    lock.lock();
  }
}

void GrowingPool::Finish() {
  std::vector<std::thread> threads;
  {
    std::unique_lock lock(mutex_);
    all_idle_.wait(
        lock, [this] { return tasks_.empty() && idle_ == threads_.size(); });
    finished_ = true;
    threads.swap(threads_);
  }
  changed_.notify_all();
  for (std::thread& thread : threads) thread.join();
}

}  // namespace meshwright
