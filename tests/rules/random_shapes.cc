#include "tests/rules/random_shapes.h"

#include <algorithm>
#include <numeric>

namespace meshwright {

int64_t RandomSize(Random& random) {
  constexpr int64_t kSizes[] = {1, 2, 3, 4, 4, 5, 6, 6, 7, 8};
  return kSizes[random() % std::size(kSizes)];
}

std::vector<int64_t> RandomSizes(Random& random, int64_t least, int64_t most) {
  std::vector<int64_t> sizes(least + RandomBelow(random, most - least + 1));
  for (int64_t& size : sizes) size = RandomSize(random);
  return sizes;
}

std::vector<int64_t> RandomOrder(Random& random, int64_t count) {
  std::vector<int64_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), random);
  return order;
}

}  // namespace meshwright
