// A shuffled order of [0, size) without a table: index i of it is computed.
//
//   Permutation order(/*size=*/1000, /*key=*/7);
//   order.At(0);   // 752
//
// A Feistel network over the smallest power of 4 that is not below the size;
// what falls outside is sent through again (cycle walking), so it is a
// bijection for every size. python/meshwright/data.py computes the same.
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

// The key of what is numbered `number` under `key`: of epochs, files, rounds.
uint64_t DeriveKey(uint64_t key, uint64_t number);

}  // namespace meshwright

#endif  // MESHWRIGHT_DATA_PERMUTATION_H_
