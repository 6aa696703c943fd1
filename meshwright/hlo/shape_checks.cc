#include "meshwright/hlo/shape_checks.h"

#include "absl/strings/str_join.h"

namespace meshwright {
namespace {

constexpr size_t kLongestText = 240;

std::string Cut(std::string text) {
  if (text.size() <= kLongestText) return text;
  text.resize(kLongestText);
  return absl::StrCat(text, "...");
}

}  // namespace

std::string Describe(const Shape& shape) { return Cut(shape.ToString()); }

std::string Describe(absl::Span<const int64_t> values) {
  const absl::string_view more = values.size() > 32 ? ",...}" : "}";
  return absl::StrCat("{", absl::StrJoin(values.subspan(0, 32), ","), more);
}

absl::Status CheckArray(const Instruction& instruction, size_t operand) {
  const Shape& shape = instruction.operand_shape(operand);
  if (!shape.IsArray()) {
    return Bad("operand ", operand, " must be an array; got ", Describe(shape));
  }
  if (shape.rank() > kMaxRank) {
    return Bad("operand ", operand, " has more than ", kMaxRank, " dimensions");
  }
  return absl::OkStatus();
}

absl::Status CheckArrays(const Instruction& instruction) {
  for (size_t i = 0; i < instruction.operands.size(); ++i) {
    if (absl::Status status = CheckArray(instruction, i); !status.ok()) {
      return status;
    }
  }
  return absl::OkStatus();
}

absl::Status CheckScalar(const Instruction& instruction, size_t operand) {
  const Shape& shape = instruction.operand_shape(operand);
  if (shape.IsScalar()) return absl::OkStatus();
  return Bad("operand ", operand, " must be a scalar; got ", Describe(shape));
}

absl::Status CheckDimensions(absl::string_view what,
                             absl::Span<const int64_t> dimensions, int64_t rank,
                             DimensionSet& seen) {
  if (rank > kMaxRank) {
    return Bad("rank ", rank, " is above the limit of ", kMaxRank);
  }
  for (const int64_t dimension : dimensions) {
    if (dimension < 0 || dimension >= rank) {
      return Bad(what, ": dimension out of range; expected 0 <= d < ", rank,
                 ", got ", dimension);
    }
    const size_t bit = static_cast<size_t>(dimension);
    if (seen[bit]) return Bad(what, ": dimension ", dimension, " occurs twice");
    seen.set(bit);
  }
  return absl::OkStatus();
}

absl::Status CheckDimensions(absl::string_view what,
                             absl::Span<const int64_t> dimensions,
                             int64_t rank) {
  DimensionSet seen;
  return CheckDimensions(what, dimensions, rank, seen);
}

absl::StatusOr<int64_t> OnlyDimension(const Instruction& instruction,
                                      int64_t rank) {
  const std::vector<int64_t>& dimensions = instruction.attributes->dimensions;
  if (dimensions.size() != 1) {
    return Bad("wrong number of dimensions; expected 1, got ",
               dimensions.size());
  }
  if (dimensions[0] < 0 || dimensions[0] >= rank) {
    return Bad("dimensions: dimension out of range; expected 0 <= d < ", rank,
               ", got ", dimensions[0]);
  }
  return dimensions[0];
}

std::optional<int64_t> CheckedProduct(absl::Span<const int64_t> factors) {
  // A zero makes the product zero in any order, so look for it first.
  bool zero = false;
  for (const int64_t factor : factors) {
    if (factor < 0) return std::nullopt;
    zero = zero || factor == 0;
  }
  if (zero) return 0;
  int64_t product = 1;
  for (const int64_t factor : factors) {
    if (__builtin_mul_overflow(product, factor, &product)) return std::nullopt;
  }
  return product;
}

bool SameTypeIgnoringPrecision(ElementType a, ElementType b) {
  return a == b || (IsFloating(a) && IsFloating(b));
}

}  // namespace meshwright
