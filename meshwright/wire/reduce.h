// Elementwise reduction of arrays.
//
//   // into += from
//   ReduceInto(ReduceOp::kSum, ElementType::kF32, from, into);
//
// bf16, f16 and f8 are computed as floats and rounded once, ties to even. Max
// and min propagate NaN. Integers wrap. pred supports "or" (also as sum, max)
// and "and" (also as product, min).
#ifndef MESHWRIGHT_WIRE_REDUCE_H_
#define MESHWRIGHT_WIRE_REDUCE_H_

#include <cstddef>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "meshwright/base/element_type.h"
#include "meshwright/wire/group.h"

namespace meshwright {

// kInvalidArgument if the type does not support the reduction.
absl::Status CheckReduces(ReduceOp op, ElementType type);

// into = into `op` from. Requires: equal sizes.
absl::Status ReduceInto(ReduceOp op, ElementType type,
                        absl::Span<const std::byte> from,
                        absl::Span<std::byte> into);

// into = sources[0] `op` sources[1] `op` ..., each read once. Every source has
// the size of `into`, and may be it. Requires: at least one, and
// CheckReduces().ok().
void ReduceAll(ReduceOp op, ElementType type,
               absl::Span<const std::byte* const> sources,
               absl::Span<std::byte> into);

}  // namespace meshwright

#endif  // MESHWRIGHT_WIRE_REDUCE_H_
