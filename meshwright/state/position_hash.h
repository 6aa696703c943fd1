// Random bits by position: the same for a seed and name on every machine.
//
//   PositionHash hash(/*seed=*/0, "w");
//   hash(7);   // 64 bits for element 7 of w
#ifndef MESHWRIGHT_STATE_POSITION_HASH_H_
#define MESHWRIGHT_STATE_POSITION_HASH_H_

#include <cstdint>
#include <string>

namespace meshwright {

// A counter-based generator; see Steele, Lea, Flood: Fast splittable
// pseudorandom number generators, 2014.
class PositionHash {
 public:
  PositionHash(uint64_t seed, const std::string& name) : key_(Mix(seed)) {
    for (const char c : name) key_ = Mix(key_ ^ static_cast<unsigned char>(c));
  }

  uint64_t operator()(int64_t position) const {
    return Mix(key_ ^ Mix(static_cast<uint64_t>(position)));
  }

 private:
  static uint64_t Mix(uint64_t value) {
    value += 0x9e3779b97f4a7c15;
    value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9;
    value = (value ^ value >> 27) * 0x94d049bb133111eb;
    return value ^ value >> 31;
  }

  uint64_t key_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_STATE_POSITION_HASH_H_
