#include "meshwright/rules/scalar_constant.h"

#include <algorithm>
#include <limits>

namespace meshwright {
namespace {

const Literal* LiteralOf(const Instruction* scalar) {
  if (scalar->opcode != Opcode::kConstant || !scalar->shape.IsScalar()) {
    return nullptr;
  }
  return scalar->attributes->literal.get();
}

bool IsFloatIdentity(double value, Reduction reduction) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  switch (reduction) {
    case Reduction::kSum:
      return value == 0;
    case Reduction::kProduct:
      return value == 1;
    case Reduction::kMax:
      return value == -kInfinity;
    case Reduction::kMin:
      return value == kInfinity;
    default:
      return false;
  }
}

bool IsIntegerIdentity(ElementType type, uint64_t value, Reduction reduction) {
  const int64_t width = type == ElementType::kPred ? 1 : BitWidth(type);
  const uint64_t ones = width == 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1;
  const uint64_t sign = IsSignedInteger(type) ? uint64_t{1} << (width - 1) : 0;
  value &= ones;
  switch (reduction) {
    case Reduction::kSum:
    case Reduction::kOr:
      return value == 0;
    case Reduction::kProduct:
      return value == 1;
    case Reduction::kAnd:
      return value == ones;
    case Reduction::kMax:
      return value == sign;
    case Reduction::kMin:
      return value == (ones ^ sign);
  }
  return false;
}

}  // namespace

bool IsZero(const Instruction* scalar) {
  const Literal* literal = LiteralOf(scalar);
  return literal != nullptr &&
         std::all_of(literal->data.begin(), literal->data.end(),
                     [](char byte) { return byte == '\0'; });
}

bool IsIdentity(const Instruction* scalar, Reduction reduction) {
  const Literal* literal = LiteralOf(scalar);
  if (literal == nullptr) return false;
  const ElementType type = scalar->shape.element_type;
  if (IsFloating(type)) {
    return IsFloatIdentity(literal->ElementAsDouble(0), reduction);
  }
  if (IsComplex(type)) return reduction == Reduction::kSum && IsZero(scalar);
  return IsIntegerIdentity(
      type, static_cast<uint64_t>(literal->ElementAsInteger(0)), reduction);
}

}  // namespace meshwright
