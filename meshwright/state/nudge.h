// Changes in the last bit: what rounding alone may do to a tensor.
//
//   Nudge(/*seed=*/1, tensor);   // 1 becomes 1 + 2^-23 or 1 - 2^-24
//   Nudge(1, tensor, ElementType::kBF16);   // 1 + 2^-7 or 1 - 2^-8
//
// How far the results of a step move is its noise floor: a program that adds
// up in another order rounds otherwise by about as much.
#ifndef MESHWRIGHT_STATE_NUDGE_H_
#define MESHWRIGHT_STATE_NUDGE_H_

#include <cstdint>

#include "meshwright/base/element_type.h"
#include "meshwright/state/tensor.h"

namespace meshwright {

// Moves each element to a neighbour, above or below by a hash of the seed, the
// tensor's name and its position. Only floating and complex types of 16 bits
// and more; 0 stays 0, signs stay, and so does what is not finite.
// Neighbours are those of `precision`, where it has fewer digits: the type that
// a step computes in.
void Nudge(uint64_t seed, Tensor& tensor,
           ElementType precision = ElementType::kF64);

}  // namespace meshwright

#endif  // MESHWRIGHT_STATE_NUDGE_H_
