// The sizes of the arrays of an instruction on one device.
#ifndef MESHWRIGHT_COST_LOCAL_SIZES_H_
#define MESHWRIGHT_COST_LOCAL_SIZES_H_

#include <cstdint>

#include "absl/types/span.h"
#include "meshwright/hlo/instruction.h"

namespace meshwright {

// Of the first two operands and of the result.
struct LocalSizes {
  absl::Span<const int64_t> lhs;
  absl::Span<const int64_t> rhs;
  absl::Span<const int64_t> result;
};

// Those that `instruction` has: of one that is not split.
LocalSizes SizesOf(const Instruction& instruction);

}  // namespace meshwright

#endif  // MESHWRIGHT_COST_LOCAL_SIZES_H_
