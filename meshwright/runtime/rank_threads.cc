#include "meshwright/runtime/rank_threads.h"

namespace meshwright {

RankThreads::RankThreads(int count) {
  for (int index = 1; index < count; ++index) {
    threads_.emplace_back([this, index] { Work(index); });
  }
}

RankThreads::~RankThreads() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void RankThreads::Run(const std::function<void(int)>& work) {
  {
    const std::lock_guard lock(mutex_);
    work_ = &work;
    ++round_;
    busy_ = static_cast<int>(threads_.size());
  }
  changed_.notify_all();
  work(0);
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return busy_ == 0; });
}

void RankThreads::Work(int index) {
  uint64_t done = 0;
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return is_over_ || round_ != done; });
    if (is_over_) return;
    done = round_;
    const std::function<void(int)>& work = *work_;
    lock.unlock();
    work(index);
    lock.lock();
    if (--busy_ == 0) changed_.notify_all();
  }
}

}  // namespace meshwright
