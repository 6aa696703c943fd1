// Threads for tasks that may wait for each other: none waits for a thread.
//
//   GrowingPool pool;
//   pool.Run([&] { ready.Wait(); });   // In a thread that has nothing to do,
//   pool.Run([&] { ready.Notify(); }); // or else in a new one.
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

  // Tasks may call it. After Finish() it runs the task here and now.
  void Run(std::function<void()> task);
  // Waits for all tasks, those that they start too, and ends the threads. Not
  // to be called by a task.
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
