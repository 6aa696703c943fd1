#include "meshwright/data/permutation.h"

#include "meshwright/base/check.h"

namespace meshwright {
namespace {

constexpr int kRounds = 6;

// The finalizer of splitmix64.
uint64_t Mix(uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

}  // namespace

uint64_t DeriveKey(uint64_t key, uint64_t number) {
  return Mix(key + 0x9e3779b97f4a7c15 * (number + 1));
}

Permutation::Permutation(int64_t size, uint64_t key)
    : size_(static_cast<uint64_t>(size)), key_(key) {
  MW_CHECK(size >= 1 && size <= int64_t{1} << 62) << size;
  while (uint64_t{1} << (2 * half_bits_) < size_) ++half_bits_;
}

uint64_t Permutation::Once(uint64_t value) const {
  const uint64_t mask = (uint64_t{1} << half_bits_) - 1;
  uint64_t left = value >> half_bits_;
  uint64_t right = value & mask;
  for (int round = 0; round < kRounds; ++round) {
    const uint64_t next = left ^ (Mix(right ^ DeriveKey(key_, round)) & mask);
    left = right;
    right = next;
  }
  return left << half_bits_ | right;
}

int64_t Permutation::At(int64_t index) const {
  uint64_t value = static_cast<uint64_t>(index);
  do {
    value = Once(value);
  } while (value >= size_);
  return static_cast<int64_t>(value);
}

}  // namespace meshwright
