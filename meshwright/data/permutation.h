// A pseudorandom permutation of [0, size) without a table: element i is
// computed.
//
//   Permutation order(/*size=*/1000, /*key=*/7);
//   order.At(0);   // 752
//
// A Feistel network over the smallest power of 4 that is at least the size;
// values outside are permuted again (cycle walking), so that it is a bijection
// for every size. python/meshwright/sample_order.py computes the same.
#ifndef MESHWRIGHT_DATA_PERMUTATION_H_
#define MESHWRIGHT_DATA_PERMUTATION_H_

#include <cstdint>

namespace meshwright {

class Permutation {
 public:
  // Requires: size is at least 1 and at most 2^62.
  Permutation(int64_t size, uint64_t key);

  // Requires: 0 <= index < size.
  int64_t At(int64_t index) const;

 private:
  uint64_t Once(uint64_t value) const;

  const uint64_t size_;
  const uint64_t key_;
  int half_bits_ = 0;
};

// A key for item `number` under `key`: of epochs, files, rounds.
uint64_t DeriveKey(uint64_t key, uint64_t number);

}  // namespace meshwright

#endif  // MESHWRIGHT_DATA_PERMUTATION_H_
