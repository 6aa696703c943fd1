// Synthetic inputs of a step: the same for a seed on every machine.
//
//   MakeSynthetic(Shape::Array(kS32, {2, 3}), "tokens", 0, {.bound = 50257});
//
// Every element is a hash of the seed, the tensor's name and its position.
//   floating, complex  uniform in [-0.02, 0.02): weights small enough that deep
//                      networks neither overflow nor saturate
//   near one           uniform in [0.8, 1.2): factors of normalised values
//   non-negative ones  uniform in [0.01, 0.02): second moments and variances;
//   and float scalars  away from 0, since they are divisors
//   bounded integers   uniform in [0, bound)
//   other integers     0 or 1; scalars, being step counters, 0
//   u32[..., 2 or 4]   unbounded, any bits: PRNG keys
//   pred               0 or 1
#ifndef MESHWRIGHT_STATE_SYNTHETIC_H_
#define MESHWRIGHT_STATE_SYNTHETIC_H_

#include <cstdint>
#include <optional>
#include <string>

#include "meshwright/hlo/shape.h"
#include "meshwright/state/tensor.h"

namespace meshwright {

struct SyntheticOptions {
  std::optional<int64_t> bound;  // Exclusive; limited to the range of the type.
  bool non_negative = false;     // For floating types.
  bool near_one = false;         // For floating types.
  double scale = 0.02;           // Of floating-point values, as above.
};

// Requires: `shape` is a valid array shape that fits in memory.
Tensor MakeSynthetic(const Shape& shape, std::string name, uint64_t seed,
                     const SyntheticOptions& options = {});

}  // namespace meshwright

#endif  // MESHWRIGHT_STATE_SYNTHETIC_H_
