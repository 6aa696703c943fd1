// A thread pool for tasks that may wait for each other: no task waits for a
// thread.
//
//   GrowingPool pool;
//   pool.Run([&] { ready.Wait(); });   // On an idle thread if there is one,
//   pool.Run([&] { ready.Notify(); }); // otherwise on a new one.
#ifndef MESHWRIGHT_CROSSING_GROWING_POOL_H_
#define MESHWRIGHT_CROSSING_GROWING_POOL_H_

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace meshwright {

// Thread-safe.
class GrowingPool {
 public:
  GrowingPool() = default;
  GrowingPool(const GrowingPool&) = delete;
  GrowingPool& operator=(const GrowingPool&) = delete;
  ~GrowingPool() { Finish(); }

  // May be called by tasks. After Finish() it runs the task synchronously.
  void Run(std::function<void()> task);
  // Waits for all tasks, including those that they start, and ends the threads.
  // Must not be called by a task.
  void Finish();

 private:
  void Work();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::condition_variable all_idle_;
  std::deque<std::function<void()>> tasks_;
  std::vector<std::thread> threads_;
  size_t idle_ = 0;
  bool finished_ = false;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_CROSSING_GROWING_POOL_H_
