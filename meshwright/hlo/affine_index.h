// Integer arrays whose elements are an affine function of their position.
//
//   iota s32[8,4] along 0, times 4, plus iota along 1:   4 i + j
//   reshaped to s32[32]:                                 i
//   reshape(constant {0, 1, 2, 3}) s32[4,1]:             i
//
// Frontends number examples, rows and tokens like this, by an iota or a
// constant that is then moved, broadcast, wrapped (i < 0 ? i + n : i) and
// clamped.
#ifndef MESHWRIGHT_HLO_AFFINE_INDEX_H_
#define MESHWRIGHT_HLO_AFFINE_INDEX_H_

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "meshwright/hlo/instruction.h"

namespace meshwright {

// offset + the sum of strides[d] * (position along d). Dimensions of one
// element have stride 0.
struct AffineIndex {
  int64_t offset = 0;
  std::vector<int64_t> strides;  // By dimension.

  bool operator==(const AffineIndex&) const = default;
};

// A single position along a dimension: selects a component of index vectors.
struct FixedPosition {
  int64_t dimension = 0;
  int64_t position = 0;
};

// Maps values to others of the same shape that have the same function, such as
// from what a loop reads to what it was given.
using IndexSources = std::map<const Instruction*, const Instruction*>;

// The function of the elements of an integer array, or of those at `fixed`
// alone (whose stride is 0 then); nullopt if there is none, if it overflows, or
// if finding it takes too long. Requires: the module passed Verify.
std::optional<AffineIndex> AffineIndexOf(
    const Instruction& value, std::optional<FixedPosition> fixed = {},
    const IndexSources& sources = {});

// The only dimension along which each value equals its position, as in an iota;
// nullopt if there is none.
std::optional<int64_t> IotaDimension(const AffineIndex& index);

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_AFFINE_INDEX_H_
