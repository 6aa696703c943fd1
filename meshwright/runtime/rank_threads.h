// Persistent threads, one for each rank of a worker.
#ifndef MESHWRIGHT_RUNTIME_RANK_THREADS_H_
#define MESHWRIGHT_RUNTIME_RANK_THREADS_H_

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace meshwright {

class RankThreads {
 public:
  explicit RankThreads(int count);
  ~RankThreads();
  RankThreads(const RankThreads&) = delete;
  RankThreads& operator=(const RankThreads&) = delete;

  // Calls work(0), ..., work(count - 1) concurrently, the first on this thread;
  // returns when all are done.
  void Run(const std::function<void(int)>& work);

 private:
  void Work(int index);

  std::mutex mutex_;
  std::condition_variable changed_;
  const std::function<void(int)>* work_ = nullptr;
  uint64_t round_ = 0;
  int busy_ = 0;
  bool is_over_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_RUNTIME_RANK_THREADS_H_
