// Perturbs tensors in the last bit, by as much as rounding alone may change
// them.
//
//   Nudge(/*seed=*/1, tensor);   // 1 becomes 1 + 2^-23 or 1 - 2^-24
//   Nudge(1, tensor, ElementType::kBF16);   // 1 + 2^-7 or 1 - 2^-8
//
// How far the results of a step move is its noise floor: a program that sums in
// another order differs by rounding of about that size.
#ifndef MESHWRIGHT_STATE_NUDGE_H_
#define MESHWRIGHT_STATE_NUDGE_H_

#include <cstdint>

#include "meshwright/base/element_type.h"
#include "meshwright/state/tensor.h"

namespace meshwright {

// Moves each element to a neighbouring value, above or below by a hash of the
// seed, the tensor's name and its position. Only for floating-point and complex
// types of at least 16 bits; zeros, signs and non-finite values are kept.
// Neighbours are those in `precision`, the type in which a step computes, if
// that has fewer digits.
void Nudge(uint64_t seed, Tensor& tensor,
           ElementType precision = ElementType::kF64);

}  // namespace meshwright

#endif  // MESHWRIGHT_STATE_NUDGE_H_
