#include "meshwright/base/side_by_side.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace meshwright {

void SideBySide(int count, const std::function<void(int)>& work) {
  std::atomic<int> next = 0;
  const auto take = [&] {
    for (int i = next++; i < count; i = next++) work(i);
  };
  const int cores =
      std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  std::vector<std::thread> others;
  for (int i = 1; i < std::min(count, cores); ++i) others.emplace_back(take);
  take();
  for (std::thread& other : others) other.join();
}

}  // namespace meshwright
