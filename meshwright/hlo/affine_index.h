// Integers that follow from their position by a linear function.
//
//   iota s32[8,4] along 0, times 4, plus iota along 1:   4 i + j
//   reshaped to s32[32]:                                 i
//   reshape(constant {0, 1, 2, 3}) s32[4,1]:             i
//
// Frontends number examples, rows and tokens so, by an iota or a constant that
// they then move, repeat, wrap (i < 0 ? i + n : i) and clamp.
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

// One position along a dimension: what an index vector has as a component.
struct FixedPosition {
  int64_t dimension = 0;
  int64_t position = 0;
};

// Values -> others of the same shape whose function is theirs too, such as what
// a loop was given for what it reads.
using IndexSources = std::map<const Instruction*, const Instruction*>;

// The function that gives the elements of an array of integers, those at
// `fixed` alone if given (its stride is 0 then); nullopt if there is none, if
// it overflows, or if it takes a long way to see. Requires: passed Verify.
std::optional<AffineIndex> AffineIndexOf(
    const Instruction& value, std::optional<FixedPosition> fixed = {},
    const IndexSources& sources = {});

// The only dimension along which values are their own position, those of an
// iota; nullopt if there is none.
std::optional<int64_t> IotaDimension(const AffineIndex& index);

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_AFFINE_INDEX_H_
