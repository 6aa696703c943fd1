// Elementwise operations: all dimensions agree.
#include "meshwright/base/status_macros.h"
#include "meshwright/hlo/infer_rules.h"
#include "meshwright/hlo/shape_checks.h"

namespace meshwright {
namespace {

bool IsLogical(ElementType type) {
  return type == ElementType::kPred || IsInteger(type);
}

// The type of a complex number's parts.
ElementType PartOf(ElementType type) {
  if (type == ElementType::kC64) return ElementType::kF32;
  if (type == ElementType::kC128) return ElementType::kF64;
  return type;
}

// As bitcast-convert counts: a pred has one bit, though it is stored in eight.
int64_t ValueBits(ElementType type) {
  return type == ElementType::kPred ? 1 : BitWidth(type);
}

bool UnaryTakes(Opcode opcode, ElementType type) {
  switch (opcode) {
    case Opcode::kNot:
      return IsLogical(type);
    case Opcode::kPopcnt:
    case Opcode::kCountLeadingZeros:
      return IsInteger(type);
    case Opcode::kAbs:
    case Opcode::kSign:
      return IsSignedInteger(type) || IsFloatingOrComplex(type);
    case Opcode::kNegate:
      return IsInteger(type) || IsFloatingOrComplex(type);
    case Opcode::kFloor:
    case Opcode::kCeil:
    case Opcode::kRoundNearestAfz:
    case Opcode::kRoundNearestEven:
    case Opcode::kErf:
    case Opcode::kCbrt:
    case Opcode::kIsFinite:
      return IsFloating(type);
    default:
      return IsFloatingOrComplex(type);
  }
}

bool BinaryTakes(Opcode opcode, ElementType type) {
  switch (opcode) {
    case Opcode::kAnd:
    case Opcode::kOr:
    case Opcode::kXor:
      return IsLogical(type);
    case Opcode::kAtan2:
      return IsFloatingOrComplex(type);
    case Opcode::kShiftLeft:
    case Opcode::kShiftRightArithmetic:
    case Opcode::kShiftRightLogical:
    case Opcode::kMulhi:
      return IsInteger(type);
    case Opcode::kRemainder:
      return IsInteger(type) || IsFloating(type);
    case Opcode::kSubtract:
    case Opcode::kPower:
    case Opcode::kDivide:
      return type != ElementType::kPred;
    case Opcode::kComplex:
      return type == ElementType::kF32 || type == ElementType::kF64;
    default:
      return true;
  }
}

absl::Status WrongType(size_t operand, ElementType type) {
  return Bad("operand ", operand, " has an element type this opcode does not ",
             "take; got ", Name(type));
}

// Whether the order named by "type" is one for numbers of this kind.
bool OrderFits(const std::string& order, ElementType type) {
  if (order.empty()) return true;
  if (IsSignedInteger(type)) return order == "SIGNED";
  if (IsLogical(type)) return order == "UNSIGNED";
  return order == "FLOAT" || order == "TOTALORDER";
}

absl::Status CheckComparison(const Attributes& attributes, ElementType type) {
  const std::string& direction = attributes.comparison_direction;
  if (direction != "EQ" && direction != "NE" && direction != "GE" &&
      direction != "GT" && direction != "LE" && direction != "LT") {
    return Bad("unknown comparison direction \"", direction, "\"");
  }
  if (!OrderFits(attributes.comparison_type, type)) {
    return Bad("comparison type ", attributes.comparison_type,
               " does not fit operands of type ", Name(type));
  }
  return absl::OkStatus();
}

// Operand `index` has the dimensions of `like`, and its element type.
absl::Status CheckSameType(const Instruction& instruction, size_t index,
                           const Shape& like) {
  const Shape& shape = instruction.operand_shape(index);
  if (shape.dimensions == like.dimensions &&
      shape.element_type == like.element_type) {
    return absl::OkStatus();
  }
  return Bad("operand ", index, " has the wrong shape; expected ",
             Describe(like), ", got ", Describe(shape));
}

}  // namespace

absl::StatusOr<Inferred> InferUnary(const Instruction& instruction) {
  MW_RETURN_IF_ERROR(CheckArray(instruction, 0));
  const Shape& operand = instruction.operand_shape(0);
  const ElementType type = operand.element_type;
  if (!UnaryTakes(instruction.opcode, type)) return WrongType(0, type);
  switch (instruction.opcode) {
    case Opcode::kIsFinite:
      return Inferred::Retyped(operand, ElementType::kPred);
    case Opcode::kAbs:
    case Opcode::kReal:
    case Opcode::kImag:
      return Inferred::Retyped(operand, PartOf(type));
    default:
      return Inferred::Like(operand);
  }
}

absl::StatusOr<Inferred> InferBinary(const Instruction& instruction) {
  MW_RETURN_IF_ERROR(CheckArray(instruction, 0));
  const Shape& lhs = instruction.operand_shape(0);
  const ElementType type = lhs.element_type;
  MW_RETURN_IF_ERROR(CheckSameType(instruction, 1, lhs));
  if (!BinaryTakes(instruction.opcode, type)) return WrongType(0, type);
  if (instruction.opcode == Opcode::kCompare) {
    MW_RETURN_IF_ERROR(CheckComparison(*instruction.attributes, type));
    return Inferred::Retyped(lhs, ElementType::kPred);
  }
  if (instruction.opcode == Opcode::kComplex) {
    return Inferred::Retyped(lhs, type == ElementType::kF32
                                      ? ElementType::kC64
                                      : ElementType::kC128);
  }
  return Inferred::Like(lhs);
}

absl::StatusOr<Inferred> InferClamp(const Instruction& instruction) {
  MW_RETURN_IF_ERROR(CheckArrays(instruction));
  const Shape& value = instruction.operand_shape(1);
  for (const size_t bound : {0, 2}) {
    const Shape& shape = instruction.operand_shape(bound);
    if (shape.IsScalar() && shape.element_type == value.element_type) continue;
    MW_RETURN_IF_ERROR(CheckSameType(instruction, bound, value));
  }
  return Inferred::Like(value);
}

absl::StatusOr<Inferred> InferSelect(const Instruction& instruction) {
  MW_RETURN_IF_ERROR(CheckArrays(instruction));
  const Shape& predicate = instruction.operand_shape(0);
  const Shape& on_true = instruction.operand_shape(1);
  MW_RETURN_IF_ERROR(CheckSameType(instruction, 2, on_true));
  if (predicate.element_type != ElementType::kPred) {
    return WrongType(0, predicate.element_type);
  }
  if (!predicate.IsScalar() && predicate.dimensions != on_true.dimensions) {
    return Bad("the predicate must be a scalar or shaped like the values; ",
               "expected dimensions ", Describe(on_true.dimensions), ", got ",
               Describe(predicate));
  }
  return Inferred::Like(on_true);
}

absl::StatusOr<Inferred> InferConvert(const Instruction& instruction) {
  MW_RETURN_IF_ERROR(CheckArray(instruction, 0));
  const Shape& operand = instruction.operand_shape(0);
  const ElementType to = instruction.shape.element_type;
  if (!IsArrayType(to)) {
    return Bad("cannot convert ", Name(operand.element_type), " to ", Name(to));
  }
  return Inferred::Retyped(operand, to);
}

absl::StatusOr<Inferred> InferBitcastConvert(const Instruction& instruction) {
  MW_RETURN_IF_ERROR(CheckArray(instruction, 0));
  const Shape& operand = instruction.operand_shape(0);
  const ElementType from = operand.element_type;
  const ElementType to = instruction.shape.element_type;
  if (!IsArrayType(to) || IsComplex(from) != IsComplex(to)) {
    return Bad("cannot reinterpret ", Name(from), " as ", Name(to));
  }
  const int64_t from_bits = ValueBits(from);
  const int64_t to_bits = ValueBits(to);
  if (from_bits == to_bits) return Inferred::Retyped(operand, to);
  std::vector<int64_t> dimensions = operand.dimensions;
  if (from_bits > to_bits) {
    if (from_bits % to_bits != 0) {
      return Bad("cannot reinterpret ", Name(from), " as ", Name(to));
    }
    dimensions.push_back(from_bits / to_bits);
    return Inferred::Array(to, std::move(dimensions));
  }
  if (to_bits % from_bits != 0 || dimensions.empty() ||
      dimensions.back() != to_bits / from_bits) {
    return Bad("the last dimension must make up one ", Name(to), "; got ",
               Describe(operand));
  }
  dimensions.pop_back();
  return Inferred::Array(to, std::move(dimensions));
}

absl::StatusOr<Inferred> InferReducePrecision(const Instruction& instruction) {
  MW_RETURN_IF_ERROR(CheckArray(instruction, 0));
  const Shape& operand = instruction.operand_shape(0);
  if (!IsFloating(operand.element_type)) {
    return WrongType(0, operand.element_type);
  }
  const Attributes& attributes = *instruction.attributes;
  if (attributes.exponent_bits < 1 || attributes.mantissa_bits < 0) {
    return Bad("expected exponent_bits >= 1 and mantissa_bits >= 0, got ",
               attributes.exponent_bits, " and ", attributes.mantissa_bits);
  }
  return Inferred::Like(operand);
}

absl::StatusOr<Inferred> InferStochasticConvert(
    const Instruction& instruction) {
  MW_RETURN_IF_ERROR(CheckArrays(instruction));
  const Shape& operand = instruction.operand_shape(0);
  const Shape& random = instruction.operand_shape(1);
  if (!IsFloating(operand.element_type)) {
    return WrongType(0, operand.element_type);
  }
  if (!IsUnsignedInteger(random.element_type) ||
      BitWidth(random.element_type) != BitWidth(operand.element_type) ||
      random.dimensions != operand.dimensions) {
    return Bad("the random bits must be unsigned and shaped like the value; ",
               "got ", Describe(random), " for ", Describe(operand));
  }
  const ElementType to = instruction.shape.element_type;
  if (!IsArrayType(to)) return Bad("cannot convert to ", Name(to));
  return Inferred::Retyped(operand, to);
}

}  // namespace meshwright
