// Calls a function periodically on a thread of its own.
#ifndef MESHWRIGHT_SERVICE_PERIODIC_H_
#define MESHWRIGHT_SERVICE_PERIODIC_H_

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

namespace meshwright {

class Periodic {
 public:
  Periodic(std::chrono::milliseconds interval, std::function<void()> function)
      : thread_([this, interval, function = std::move(function)] {
          std::unique_lock lock(mutex_);
          while (!changed_.wait_for(lock, interval, [&] { return ended_; })) {
            lock.unlock();
            function();
            lock.lock();
          }
        }) {}
  ~Periodic() {
    {
      std::unique_lock lock(mutex_);
      ended_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  Periodic(const Periodic&) = delete;
  Periodic& operator=(const Periodic&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ended_ = false;
  // Declared last: starts when everything else is constructed.
  std::thread thread_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_SERVICE_PERIODIC_H_
