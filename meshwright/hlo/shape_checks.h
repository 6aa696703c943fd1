// Small checks that inference rules and the verifier share.
//
//   MW_RETURN_IF_ERROR(CheckDimensions("dimensions", {0, 2}, /*rank=*/3));
//   CheckedProduct({1 << 20, 1 << 20, 1 << 30});   // nullopt: overflows
#ifndef MESHWRIGHT_HLO_SHAPE_CHECKS_H_
#define MESHWRIGHT_HLO_SHAPE_CHECKS_H_

#include <bitset>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "meshwright/base/bad.h"
#include "meshwright/hlo/instruction.h"

namespace meshwright {

// Far above what programs use; keeps the cost of hostile input linear.
inline constexpr int64_t kMaxRank = 256;

using DimensionSet = std::bitset<kMaxRank>;

// The shape as text, cut when it is very long.
std::string Describe(const Shape& shape);
std::string Describe(absl::Span<const int64_t> values);

// "operand 1 must be an array; got token[]".
absl::Status CheckArray(const Instruction& instruction, size_t operand);
absl::Status CheckArrays(const Instruction& instruction);
absl::Status CheckScalar(const Instruction& instruction, size_t operand);

// Each dimension is in [0, rank) and occurs once, also with respect to what
// `seen` holds already.
absl::Status CheckDimensions(absl::string_view what,
                             absl::Span<const int64_t> dimensions, int64_t rank,
                             DimensionSet& seen);
absl::Status CheckDimensions(absl::string_view what,
                             absl::Span<const int64_t> dimensions,
                             int64_t rank);
// The only entry of the instruction's `dimensions`, in [0, rank).
absl::StatusOr<int64_t> OnlyDimension(const Instruction& instruction,
                                      int64_t rank);

// The product, or nullopt when a factor is negative or the product overflows.
std::optional<int64_t> CheckedProduct(absl::Span<const int64_t> factors);

// Equal, or both floating.
bool SameTypeIgnoringPrecision(ElementType a, ElementType b);

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_SHAPE_CHECKS_H_
