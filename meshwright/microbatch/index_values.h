// What arithmetic makes of given integers.
//
//   floor_divide(order s32[1024], 2), wrapped (i < 0 ? i + 512 : i):
//   ValuesOf(.., order, {0, 1, 2, 3}) is {0, 0, 1, 1}
#ifndef MESHWRIGHT_MICROBATCH_INDEX_VALUES_H_
#define MESHWRIGHT_MICROBATCH_INDEX_VALUES_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "meshwright/hlo/instruction.h"

namespace meshwright {

// The elements of `value` if those of `input` are `elements`, for a value whose
// elements are each computed from one element of `input`, at the same position
// in row-major order, and from constants. One element if it is a constant.
// nullopt for any other value. Requires: passed Verify.
std::optional<std::vector<int64_t>> ValuesOf(
    const Instruction& value, const Instruction& input,
    const std::vector<int64_t>& elements);

// The same instruction, or the same element of the same tuple.
bool IsSameValue(const Instruction& a, const Instruction& b);

}  // namespace meshwright

#endif  // MESHWRIGHT_MICROBATCH_INDEX_VALUES_H_
