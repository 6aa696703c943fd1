#include "meshwright/hlo/text_literal.h"

#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "meshwright/hlo/round_float.h"
#include "meshwright/hlo/strides.h"

namespace meshwright::internal {
namespace {

constexpr absl::string_view kNumberCharacters =
    "+-.0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

constexpr absl::string_view kElidedMessage =
    "the text leaves this constant out ('...'); print it with large constants: "
    "print_large_constants=True in jaxlib, --xla_dump_large_constants for "
    "dumps";

// "0.1", "1e+20", "0x1.8p3", "inf"; from_chars does not accept the prefix "0x".
std::optional<double> ParseDouble(absl::string_view text) {
  const bool negative = absl::ConsumePrefix(&text, "-");
  const bool hex = absl::ConsumePrefix(&text, "0x");
  if (text.empty() || text[0] == '-') return std::nullopt;
  double value = 0;
  const auto [end, error] = std::from_chars(
      text.data(), text.data() + text.size(), value,
      hex ? std::chars_format::hex : std::chars_format::general);
  if (end != text.data() + text.size()) return std::nullopt;
  if (error == std::errc::result_out_of_range) {
    // Too large, or so small that it is read as 0.
    if (hex || !absl::SimpleAtod(text, &value) || std::isinf(value)) {
      return std::nullopt;
    }
  } else if (error != std::errc()) {
    return std::nullopt;
  }
  return negative ? -value : value;
}

// The mantissa in "nan(0x1)"; 0 if there is none.
uint64_t ReadNanMantissa(TextLexer& lexer) {
  uint64_t mantissa = 0;
  if (!lexer.Take("(")) return mantissa;
  absl::string_view digits = lexer.Run(kNumberCharacters);
  if (!absl::ConsumePrefix(&digits, "0x") ||
      !absl::SimpleHexAtoi(digits, &mantissa)) {
    lexer.Fail("expected the bits of a NaN, as in nan(0x1)");
  }
  lexer.Expect(")");
  return mantissa;
}

void NoValue(TextLexer& lexer, size_t start, absl::string_view text,
             ElementType type) {
  lexer.FailAt(start, absl::StrCat("'", text.substr(0, kMostShown),
                                   "' is no value of ", Name(type)));
}

uint64_t ReadFloatBits(TextLexer& lexer, ElementType type) {
  const size_t start = lexer.position();
  absl::string_view text = lexer.Run(kNumberCharacters);
  if (text.empty()) {
    lexer.FailExpected("a number");
    return 0;
  }
  std::optional<uint64_t> bits;
  if (text == "nan" || text == "-nan") {
    bits = NanBits(type, text[0] == '-', ReadNanMantissa(lexer));
  } else if (const std::optional<double> value = ParseDouble(text)) {
    bits = RoundToBits(type, *value);
  }
  if (!bits.has_value()) NoValue(lexer, start, text, type);
  return bits.value_or(0);
}

// Whether the value fits into the bits of the type.
bool Fits(ElementType type, int64_t value) {
  const int64_t unused = 64 - BitWidth(type);
  const auto shifted = static_cast<uint64_t>(value) << unused;
  if (IsSignedInteger(type)) {
    return static_cast<int64_t>(shifted) >> unused == value;
  }
  return static_cast<int64_t>(shifted >> unused) == value;
}

uint64_t ReadIntegerBits(TextLexer& lexer, ElementType type) {
  const size_t start = lexer.position();
  const absl::string_view text = lexer.Run(kNumberCharacters);
  if (type == ElementType::kPred && (text == "true" || text == "false")) {
    return text == "true" ? 1 : 0;
  }
  if (text.empty()) {
    lexer.FailExpected(absl::StrCat("a value of ", Name(type)));
    return 0;
  }
  uint64_t large = 0;
  if (type == ElementType::kU64 && absl::SimpleAtoi(text, &large)) return large;
  int64_t value = 0;
  const bool fits = absl::SimpleAtoi(text, &value) &&
                    (type == ElementType::kPred  ? value == 0 || value == 1
                     : type == ElementType::kU64 ? value >= 0
                                                 : Fits(type, value));
  if (!fits) NoValue(lexer, start, text, type);
  return static_cast<uint64_t>(value);
}

// Reads the rows of an array into their positions.
class ArrayReader {
 public:
  ArrayReader(TextLexer& lexer, Literal& literal, std::vector<int64_t> strides)
      : lexer_(lexer), literal_(literal), strides_(std::move(strides)) {}

  void ReadRows(int64_t dim, int64_t index) {
    const Shape& shape = literal_.shape;
    if (lexer_.NextIs("...")) lexer_.Fail(kElidedMessage);
    if (dim == shape.rank()) return ReadElement(index);
    const size_t start = lexer_.position();
    const int64_t size = shape.dimensions[dim];
    int64_t count = 0;
    lexer_.List("{", "}", [&] {
      if (lexer_.NextIs("...")) lexer_.Fail(kElidedMessage);
      if (count < size) ReadRows(dim + 1, index + count * strides_[dim]);
      if (++count > size) WrongSize(start, dim, "more");
    });
    if (count != size) WrongSize(start, dim, absl::StrCat(count));
  }

 private:
  void WrongSize(size_t start, int64_t dim, absl::string_view got) {
    lexer_.FailAt(start,
                  absl::StrCat("expected ", literal_.shape.dimensions[dim],
                               " values along dimension ", dim, " of ",
                               literal_.shape.ToString(), ", got ", got));
  }

  void Store(size_t offset, uint64_t bits, size_t width) {
    if (lexer_.ok()) std::memcpy(literal_.data.data() + offset, &bits, width);
  }

  void ReadElement(int64_t index) {
    const ElementType type = literal_.shape.element_type;
    const auto width = static_cast<size_t>(HostBytes(type));
    const size_t offset = static_cast<size_t>(index) * width;
    if (IsComplex(type)) return ReadComplex(offset, width / 2);
    Store(offset,
          IsFloating(type) ? ReadFloatBits(lexer_, type)
                           : ReadIntegerBits(lexer_, type),
          width);
  }

  void ReadComplex(size_t offset, size_t width) {
    const ElementType part =
        width == sizeof(double) ? ElementType::kF64 : ElementType::kF32;
    lexer_.Expect("(");
    Store(offset, ReadFloatBits(lexer_, part), width);
    lexer_.Expect(",");
    Store(offset + width, ReadFloatBits(lexer_, part), width);
    lexer_.Expect(")");
  }

  TextLexer& lexer_;
  Literal& literal_;
  std::vector<int64_t> strides_;
};

void ReadArray(TextLexer& lexer, Literal& literal) {
  const int64_t count = ElementCount(literal.shape);
  std::optional<std::vector<int64_t>> strides = Strides(literal.shape);
  // Each element takes at least one character: the allocation is at most a
  // constant factor larger than the text.
  if (count > static_cast<int64_t>(lexer.remaining()) || !strides) {
    TextLexer ahead = lexer;
    ahead.Take("{");
    lexer.Fail(ahead.NextIs("...")
                   ? std::string(kElidedMessage)
                   : absl::StrCat("expected ", count, " values of ",
                                  literal.shape.ToString()));
    return;
  }
  literal.data.resize(count * HostBytes(literal.shape.element_type));
  ArrayReader(lexer, literal, *std::move(strides)).ReadRows(0, 0);
}

}  // namespace

Literal ReadLiteralText(TextLexer& lexer, const Shape& shape) {
  Literal literal;
  literal.shape = shape;
  if (!lexer.ok()) return literal;
  if (shape.IsArray()) {
    // Tiles and memory spaces are specific to the device.
    literal.shape.layout->tiles.clear();
    literal.shape.layout->memory_space = 0;
    ReadArray(lexer, literal);
    return literal;
  }
  if (!shape.IsTuple()) {
    lexer.Fail(absl::StrCat(shape.ToString(), " has no constants"));
    return literal;
  }
  lexer.Expect("(");
  for (size_t i = 0; i < shape.tuple_shapes.size(); ++i) {
    if (i > 0) lexer.Expect(",");
    literal.tuple.push_back(ReadLiteralText(lexer, shape.tuple_shapes[i]));
  }
  lexer.Expect(")");
  return literal;
}

float ReadFloatText(TextLexer& lexer) {
  const uint64_t bits = ReadFloatBits(lexer, ElementType::kF32);
  return std::bit_cast<float>(static_cast<uint32_t>(bits));
}

}  // namespace meshwright::internal
