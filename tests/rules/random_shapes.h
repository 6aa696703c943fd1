// Test support: random sizes, small enough to compile fast.
#ifndef MESHWRIGHT_TESTS_RULES_RANDOM_SHAPES_H_
#define MESHWRIGHT_TESTS_RULES_RANDOM_SHAPES_H_

#include <cstdint>
#include <vector>

#include "tests/rules/one_op.h"

namespace meshwright {

// 1 to 8, often with many divisors.
int64_t RandomSize(Random& random);
// Between `least` and `most` of them, both included.
std::vector<int64_t> RandomSizes(Random& random, int64_t least, int64_t most);
// 0, 1, ..., count - 1 in random order.
std::vector<int64_t> RandomOrder(Random& random, int64_t count);
inline int64_t RandomBelow(Random& random, int64_t bound) {
  return static_cast<int64_t>(random() % static_cast<uint64_t>(bound));
}

}  // namespace meshwright

#endif  // MESHWRIGHT_TESTS_RULES_RANDOM_SHAPES_H_
