#include "meshwright/hlo/print_literal.h"

#include <bit>
#include <charconv>
#include <cmath>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "meshwright/hlo/float_format.h"
#include "meshwright/hlo/strides.h"

namespace meshwright::internal {
namespace {

constexpr int64_t kLargeConstant = 10;
// No real program exceeds these; they bound the text of malformed literals.
constexpr int64_t kMaxPrintedRank = 64;
constexpr int64_t kMaxEmptyRows = 1024;

constexpr absl::string_view kElided = "{...}";

// "nan", "-nan", and "nan(0x1)" if the mantissa is not the default one.
void AppendNan(const FloatFormat& format, uint64_t bits, std::string* out) {
  const int magnitude_bits = format.exponent_bits + format.mantissa_bits;
  const bool negative = format.has_sign && ((bits >> magnitude_bits) & 1) != 0;
  absl::StrAppend(out, negative ? "-nan" : "nan");
  if (format.non_finite != NonFinite::kIeee) return;
  const uint64_t payload = bits & ((uint64_t{1} << format.mantissa_bits) - 1);
  if (payload != uint64_t{1} << (format.mantissa_bits - 1)) {
    absl::StrAppend(out, "(0x", absl::Hex(payload), ")");
  }
}

// XLA lexes a number without point or exponent as a 64-bit integer, which has
// no -0 and at most 18 safe digits.
bool LexesAsBadInteger(absl::string_view text) {
  if (text.find_first_of(".en") != absl::string_view::npos) return false;
  return text == "-0" || text.size() > 18;
}

template <typename T>
void AppendShortest(T value, std::string* out) {
  char buffer[64];
  auto end = std::to_chars(buffer, std::end(buffer), value).ptr;
  absl::string_view text(buffer, end - buffer);
  if (LexesAsBadInteger(text)) {
    if (value == 0) {
      text = "-0.0";
    } else {
      end = std::to_chars(buffer, std::end(buffer), value,
                          std::chars_format::scientific)
                .ptr;
      text = absl::string_view(buffer, end - buffer);
    }
  }
  absl::StrAppend(out, text);
}

// Readers parse a double first: numbers that rounding twice would change are
// printed exactly.
void AppendFinite(float value, std::string* out) {
  const size_t start = out->size();
  AppendShortest(value, out);
  double read = 0;
  std::from_chars(out->data() + start, out->data() + out->size(), read);
  if (static_cast<float>(read) == value) return;
  out->resize(start);
  AppendShortest(static_cast<double>(value), out);
}

// A number of at most 16 bits, with as many digits as distinguish it from its
// neighbours.
void AppendSmall(const FloatFormat& format, double value, std::string* out) {
  if (value == 0 && std::signbit(value)) {
    absl::StrAppend(out, "-0.0");
    return;
  }
  // Near 2^-127, XLA rounds numbers incorrectly that are not exactly a power of
  // two.
  if (format.mantissa_bits == 0) return AppendShortest(value, out);
  const int significant_bits = format.mantissa_bits + 1;
  const int digits = 2 + significant_bits * 30103 / 100000;  // log10(2)
  char buffer[64];
  const char* end = std::to_chars(buffer, std::end(buffer), value,
                                  std::chars_format::general, digits)
                        .ptr;
  absl::StrAppend(out, absl::string_view(buffer, end - buffer));
}

void AppendFloatBits(ElementType type, uint64_t bits, std::string* out) {
  const FloatFormat format = FloatFormatOf(type);
  const double value =
      type == ElementType::kF64 ? std::bit_cast<double>(bits)
      : type == ElementType::kF32
          ? std::bit_cast<float>(static_cast<uint32_t>(bits))
          : SmallFloatToDouble(type, static_cast<uint16_t>(bits));
  if (std::isnan(value)) {
    AppendNan(format, bits, out);
  } else if (std::isinf(value)) {
    absl::StrAppend(out, value < 0 ? "-inf" : "inf");
  } else if (type == ElementType::kF64) {
    AppendShortest(value, out);
  } else if (type == ElementType::kF32) {
    AppendFinite(static_cast<float>(value), out);
  } else {
    AppendSmall(format, value, out);
  }
}

// Bytes [offset, offset + width) of the data as a number; 0 past its end.
uint64_t BitsAt(const Literal& literal, size_t offset, size_t width) {
  if (width > literal.data.size() || offset > literal.data.size() - width) {
    return 0;
  }
  uint64_t bits = 0;
  std::memcpy(&bits, literal.data.data() + offset, width);
  return bits;
}

void AppendElement(const Literal& literal, int64_t index, std::string* out) {
  const ElementType type = literal.shape.element_type;
  const size_t step = static_cast<size_t>(HostBytes(type));
  if (type == ElementType::kPred) {
    absl::StrAppend(out, literal.ElementAsInteger(index) ? "true" : "false");
  } else if (IsSignedInteger(type)) {
    absl::StrAppend(out, literal.ElementAsInteger(index));
  } else if (IsUnsignedInteger(type)) {
    absl::StrAppend(out,
                    static_cast<uint64_t>(literal.ElementAsInteger(index)));
  } else if (IsComplex(type)) {
    const ElementType part =
        type == ElementType::kC64 ? ElementType::kF32 : ElementType::kF64;
    const size_t offset = static_cast<size_t>(index) * step;
    absl::StrAppend(out, "(");
    AppendFloatBits(part, BitsAt(literal, offset, step / 2), out);
    absl::StrAppend(out, ", ");
    AppendFloatBits(part, BitsAt(literal, offset + step / 2, step / 2), out);
    absl::StrAppend(out, ")");
  } else {
    AppendFloatBits(
        type, BitsAt(literal, static_cast<size_t>(index) * step, step), out);
  }
}

struct Rows {
  const Literal& literal;
  std::vector<int64_t> strides;

  void Append(int64_t dim, int64_t index, std::string* out) const {
    if (dim == literal.shape.rank()) return AppendElement(literal, index, out);
    absl::StrAppend(out, "{");
    for (int64_t i = 0; i < literal.shape.dimensions[dim]; ++i) {
      if (i > 0) absl::StrAppend(out, ", ");
      Append(dim + 1, index + i * strides[dim], out);
    }
    absl::StrAppend(out, "}");
  }
};

struct Counts {
  int64_t elements = 1;
  int64_t rows = 1;  // Product of the dimensions before the first 0.
};

// Nullopt if a dimension is negative or a product overflows.
std::optional<Counts> CountElements(const Shape& shape) {
  Counts counts;
  for (const int64_t size : shape.dimensions) {
    if (size < 0) return std::nullopt;
    if (size == 0) counts.elements = 0;
    if (counts.elements == 0) continue;
    if (__builtin_mul_overflow(counts.rows, size, &counts.rows)) {
      return std::nullopt;
    }
  }
  if (counts.elements != 0) counts.elements = counts.rows;
  return counts;
}

// True if the data is complete and its text is not disproportionately long.
bool IsPrintable(const Literal& literal, const Counts& counts) {
  if (literal.shape.rank() > kMaxPrintedRank) return false;
  if (counts.elements == 0) return counts.rows <= kMaxEmptyRows;
  const int64_t present =
      std::ssize(literal.data) / HostBytes(literal.shape.element_type);
  return counts.elements <= present;
}

void AppendArray(const Literal& literal, bool large_constants,
                 std::string* out) {
  const Shape& shape = literal.shape;
  if (shape.dimensions.empty()) return AppendElement(literal, 0, out);
  const std::optional<Counts> counts = CountElements(shape);
  if (!counts.has_value() || !IsPrintable(literal, *counts) ||
      (!large_constants && counts->elements > kLargeConstant)) {
    absl::StrAppend(out, kElided);
    return;
  }
  // Without elements, strides do not matter, and the product of the sizes may
  // overflow.
  std::optional<std::vector<int64_t>> strides =
      counts->elements > 0 ? Strides(shape)
                           : std::vector<int64_t>(shape.dimensions.size(), 0);
  if (!strides.has_value()) {
    absl::StrAppend(out, kElided);
    return;
  }
  Rows{literal, *std::move(strides)}.Append(0, 0, out);
}

}  // namespace

void AppendLiteral(const Literal& literal, bool large_constants,
                   std::string* out) {
  if (literal.shape.IsArray()) {
    AppendArray(literal, large_constants, out);
    return;
  }
  if (!literal.shape.IsTuple()) {
    absl::StrAppend(out, kElided);
    return;
  }
  absl::StrAppend(out, "(");
  for (size_t i = 0; i < literal.tuple.size(); ++i) {
    if (i > 0) absl::StrAppend(out, ", ");
    AppendLiteral(literal.tuple[i], large_constants, out);
  }
  absl::StrAppend(out, ")");
}

void AppendFloat(float value, std::string* out) {
  AppendFloatBits(ElementType::kF32, std::bit_cast<uint32_t>(value), out);
}

}  // namespace meshwright::internal
