// Test support: arrays in host memory, cut into shards and compared.
#ifndef MESHWRIGHT_TESTS_RULES_HOST_VALUES_H_
#define MESHWRIGHT_TESTS_RULES_HOST_VALUES_H_

#include <cstdint>

#include "absl/status/status.h"
#include "meshwright/hlo/literal.h"
#include "meshwright/mesh/mesh.h"
#include "meshwright/mesh/sharding.h"

namespace meshwright {

// A row-major array of zeros.
Literal Zeros(const Shape& shape);
// Sets element `index` to the nearest value of the type.
void SetElement(Literal& literal, int64_t index, double value);

// What `device` holds of `whole`. Padding is NaN, or integers both
// large and small. If
// pending, random partial values that combine to `whole`; `seed` must be the
// same on all devices.
Literal ShardOf(const Literal& whole, const Sharding& sharding,
                const Mesh& mesh, int64_t device, uint64_t seed);

// Compares what `device` holds with its part of `whole`, padding aside.
// `tolerance` is absolute and relative; 0 asks for equal bits (or two NaNs).
absl::Status CompareShard(const Literal& shard, const Literal& whole,
                          const Sharding& sharding, const Mesh& mesh,
                          int64_t device, double tolerance);

}  // namespace meshwright

#endif  // MESHWRIGHT_TESTS_RULES_HOST_VALUES_H_
