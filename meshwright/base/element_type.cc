#include "meshwright/base/element_type.h"

#include <array>

namespace meshwright {
namespace {

enum class Kind { kNone, kPred, kSigned, kUnsigned, kFloat, kComplex };

struct Info {
  absl::string_view name;
  int bits;
  Kind kind;
};

// Indexed by the enum's number.
constexpr std::array<Info, 37> kInfo = {{
    {"invalid", 0, Kind::kNone},     {"pred", 8, Kind::kPred},
    {"s8", 8, Kind::kSigned},        {"s16", 16, Kind::kSigned},
    {"s32", 32, Kind::kSigned},      {"s64", 64, Kind::kSigned},
    {"u8", 8, Kind::kUnsigned},      {"u16", 16, Kind::kUnsigned},
    {"u32", 32, Kind::kUnsigned},    {"u64", 64, Kind::kUnsigned},
    {"f16", 16, Kind::kFloat},       {"f32", 32, Kind::kFloat},
    {"f64", 64, Kind::kFloat},       {"tuple", 0, Kind::kNone},
    {"opaque", 0, Kind::kNone},      {"c64", 64, Kind::kComplex},
    {"bf16", 16, Kind::kFloat},      {"token", 0, Kind::kNone},
    {"c128", 128, Kind::kComplex},   {"f8e5m2", 8, Kind::kFloat},
    {"f8e4m3fn", 8, Kind::kFloat},   {"s4", 4, Kind::kSigned},
    {"u4", 4, Kind::kUnsigned},      {"f8e4m3b11fnuz", 8, Kind::kFloat},
    {"f8e5m2fnuz", 8, Kind::kFloat}, {"f8e4m3fnuz", 8, Kind::kFloat},
    {"s2", 2, Kind::kSigned},        {"u2", 2, Kind::kUnsigned},
    {"f8e4m3", 8, Kind::kFloat},     {"f8e3m4", 8, Kind::kFloat},
    {"s1", 1, Kind::kSigned},        {"u1", 1, Kind::kUnsigned},
    {"f4e2m1fn", 4, Kind::kFloat},   {"f8e8m0fnu", 8, Kind::kFloat},
    {"b", 0, Kind::kNone},           {"f6e3m2fn", 6, Kind::kFloat},
    {"f6e2m3fn", 6, Kind::kFloat},
}};

// A number from a cast that is out of range counts as invalid.
const Info& InfoOf(ElementType type) {
  const auto number = static_cast<size_t>(type);
  return kInfo[number < kInfo.size() ? number : 0];
}

}  // namespace

std::optional<ElementType> ElementTypeFromNumber(int64_t number) {
  if (number <= 0 || number >= static_cast<int64_t>(kInfo.size())) {
    return std::nullopt;
  }
  return static_cast<ElementType>(number);
}

absl::string_view Name(ElementType type) { return InfoOf(type).name; }

std::optional<ElementType> ParseElementType(absl::string_view name) {
  for (size_t number = 1; number < kInfo.size(); ++number) {
    if (kInfo[number].name == name) return static_cast<ElementType>(number);
  }
  return std::nullopt;
}

int64_t BitWidth(ElementType type) { return InfoOf(type).bits; }

int64_t HostBytes(ElementType type) { return (InfoOf(type).bits + 7) / 8; }

bool IsArrayType(ElementType type) { return InfoOf(type).kind != Kind::kNone; }

bool IsFloating(ElementType type) { return InfoOf(type).kind == Kind::kFloat; }

bool IsComplex(ElementType type) { return InfoOf(type).kind == Kind::kComplex; }

bool IsSignedInteger(ElementType type) {
  return InfoOf(type).kind == Kind::kSigned;
}

bool IsUnsignedInteger(ElementType type) {
  return InfoOf(type).kind == Kind::kUnsigned;
}

}  // namespace meshwright
