// A small random number generator with the same sequence on all platforms.
#ifndef MESHWRIGHT_SOLVE_RANDOM_H_
#define MESHWRIGHT_SOLVE_RANDOM_H_

#include <cstdint>

namespace meshwright {

// SplitMix64.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t Next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  // 0 <= result < count.
  int32_t Below(int32_t count) {
    return static_cast<int32_t>((Next() >> 32) * static_cast<uint64_t>(count) >>
                                32);
  }
  // 0 <= result < 1.
  double Unit() { return static_cast<double>(Next() >> 11) * 0x1p-53; }

 private:
  uint64_t state_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_SOLVE_RANDOM_H_
