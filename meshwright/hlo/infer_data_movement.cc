// Operations that move elements without computing on them.
#include "meshwright/base/status_macros.h"
#include "meshwright/hlo/infer_rules.h"
#include "meshwright/hlo/shape_checks.h"

namespace meshwright {
namespace {

// The instruction's own shape is an array of the first operand's type.
absl::Status CheckOwnArray(const Instruction& instruction) {
  const Shape& shape = instruction.shape;
  const ElementType type = instruction.operand_shape(0).element_type;
  if (!shape.IsArray() || shape.element_type != type) {
    return Bad("wrong result type; expected an array of ", Name(type), ", got ",
               Describe(shape));
  }
  return absl::OkStatus();
}

absl::Status CheckSameElementCount(const Instruction& instruction) {
  const Shape& from = instruction.operand_shape(0);
  const Shape& to = instruction.shape;
  const std::optional<int64_t> count = CheckedProduct(from.dimensions);
  if (count.has_value() && count == CheckedProduct(to.dimensions)) {
    return absl::OkStatus();
  }
  return Bad("operand and result differ in their number of elements; got ",
             Describe(from), " and ", Describe(to));
}

// `size` elements with `config`'s padding around and between them; nullopt
// when that overflows.
std::optional<int64_t> PaddedSize(int64_t size,
                                  const PaddingDimension& config) {
  int64_t gaps = size > 0 ? size - 1 : 0;
  if (__builtin_mul_overflow(gaps, config.interior, &gaps) ||
      __builtin_add_overflow(size, gaps, &size) ||
      __builtin_add_overflow(size, config.edge_low, &size) ||
      __builtin_add_overflow(size, config.edge_high, &size)) {
    return std::nullopt;
  }
  return size;
}

}  // namespace

absl::StatusOr<Inferred> InferBroadcast(const Instruction& instruction) {
  MW_RETURN_IF_ERROR(CheckArray(instruction, 0));
  MW_RETURN_IF_ERROR(CheckOwnArray(instruction));
  const Shape& operand = instruction.operand_shape(0);
  const Shape& result = instruction.shape;
  const std::vector<int64_t>& dimensions = instruction.attributes->dimensions;
  if (std::ssize(dimensions) != operand.rank()) {
    return Bad("wrong number of dimensions; expected ", operand.rank(),
               ", got ", dimensions.size());
  }
  MW_RETURN_IF_ERROR(CheckDimensions("dimensions", dimensions, result.rank()));
  for (size_t i = 0; i < dimensions.size(); ++i) {
    const int64_t size = result.dimensions[dimensions[i]];
    if (operand.dimensions[i] != size) {
      return Bad("operand dimension ", i, " does not fit result dimension ",
                 dimensions[i], "; expected size ", size, ", got ",
                 operand.dimensions[i]);
    }
  }
  return Inferred::Own();
}

absl::StatusOr<Inferred> InferReshape(const Instruction& instruction) {
  MW_RETURN_IF_ERROR(CheckArray(instruction, 0));
  MW_RETURN_IF_ERROR(CheckOwnArray(instruction));
  MW_RETURN_IF_ERROR(CheckSameElementCount(instruction));
  return Inferred::Own();
}

absl::StatusOr<Inferred> InferDynamicReshape(const Instruction& instruction) {
  MW_RETURN_IF_ERROR(CheckArray(instruction, 0));
  MW_RETURN_IF_ERROR(CheckOwnArray(instruction));
  MW_RETURN_IF_ERROR(CheckSameElementCount(instruction));
  if (std::ssize(instruction.operands) != instruction.shape.rank() + 1) {
    return Bad("expected one size operand per result dimension, ",
               instruction.shape.rank(), ", got ",
               instruction.operands.size() - 1);
  }
  for (size_t i = 1; i < instruction.operands.size(); ++i) {
    MW_RETURN_IF_ERROR(CheckScalar(instruction, i));
  }
  return Inferred::Own();
}

absl::StatusOr<Inferred> InferTranspose(const Instruction& instruction) {
  MW_RETURN_IF_ERROR(CheckArray(instruction, 0));
  const Shape& operand = instruction.operand_shape(0);
  const std::vector<int64_t>& permutation = instruction.attributes->dimensions;
  if (std::ssize(permutation) != operand.rank()) {
    return Bad("wrong number of dimensions; expected ", operand.rank(),
               ", got ", permutation.size());
  }
  MW_RETURN_IF_ERROR(
      CheckDimensions("dimensions", permutation, operand.rank()));
  std::vector<int64_t> dimensions(permutation.size());
  for (size_t i = 0; i < permutation.size(); ++i) {
    dimensions[i] = operand.dimensions[permutation[i]];
  }
  return Inferred::Array(operand.element_type, std::move(dimensions));
}

absl::StatusOr<Inferred> InferReverse(const Instruction& instruction) {
  MW_RETURN_IF_ERROR(CheckArray(instruction, 0));
  const Shape& operand = instruction.operand_shape(0);
  MW_RETURN_IF_ERROR(CheckDimensions(
      "dimensions", instruction.attributes->dimensions, operand.rank()));
  return Inferred::Like(operand);
}

absl::StatusOr<Inferred> InferPad(const Instruction& instruction) {
  MW_RETURN_IF_ERROR(CheckArray(instruction, 0));
  MW_RETURN_IF_ERROR(CheckScalar(instruction, 1));
  const Shape& operand = instruction.operand_shape(0);
  const Shape& value = instruction.operand_shape(1);
  if (operand.element_type != value.element_type) {
    return Bad("the padding value has the wrong type; expected ",
               Name(operand.element_type), ", got ", Name(value.element_type));
  }
  if (!instruction.attributes->padding) return Bad("no padding config");
  const PaddingConfig& config = *instruction.attributes->padding;
  if (std::ssize(config.dimensions) != operand.rank()) {
    return Bad("wrong number of padded dimensions; expected ", operand.rank(),
               ", got ", config.dimensions.size());
  }
  std::vector<int64_t> dimensions(operand.dimensions.size());
  for (size_t i = 0; i < dimensions.size(); ++i) {
    if (config.dimensions[i].interior < 0) {
      return Bad("interior padding of dimension ", i, " is negative; got ",
                 config.dimensions[i].interior);
    }
    const std::optional<int64_t> size =
        PaddedSize(operand.dimensions[i], config.dimensions[i]);
    if (!size.has_value() || *size < 0) {
      return Bad("padding makes the size of dimension ", i,
                 size.has_value() ? " negative" : " overflow");
    }
    dimensions[i] = *size;
  }
  return Inferred::Array(operand.element_type, std::move(dimensions));
}

absl::StatusOr<Inferred> InferConcatenate(const Instruction& instruction) {
  MW_RETURN_IF_ERROR(CheckArray(instruction, 0));
  const Shape& first = instruction.operand_shape(0);
  MW_ASSIGN_OR_RETURN(const int64_t along,
                      OnlyDimension(instruction, first.rank()));
  std::vector<int64_t> dimensions = first.dimensions;
  for (size_t i = 1; i < instruction.operands.size(); ++i) {
    const Shape& operand = instruction.operand_shape(i);
    bool fits = operand.element_type == first.element_type &&
                operand.rank() == first.rank();
    for (int64_t d = 0; fits && d < first.rank(); ++d) {
      fits = d == along || operand.dimensions[d] == first.dimensions[d];
    }
    if (!fits) {
      return Bad("operand ", i, " does not fit operand 0 outside dimension ",
                 along, "; got ", Describe(operand), " and ", Describe(first));
    }
    if (__builtin_add_overflow(dimensions[along], operand.dimensions[along],
                               &dimensions[along])) {
      return Bad("the size of dimension ", along, " overflows");
    }
  }
  return Inferred::Array(first.element_type, std::move(dimensions));
}

absl::StatusOr<Inferred> InferIota(const Instruction& instruction) {
  const Shape& shape = instruction.shape;
  if (!shape.IsArray()) {
    return Bad("the result must be an array; got ", Describe(shape));
  }
  if (shape.element_type == ElementType::kPred) {
    return Bad("the result must hold numbers; got ", Describe(shape));
  }
  MW_RETURN_IF_ERROR(OnlyDimension(instruction, shape.rank()).status());
  return Inferred::Own();
}

absl::StatusOr<Inferred> InferBitcast(const Instruction& instruction) {
  const Shape& from = instruction.operand_shape(0);
  const Shape& to = instruction.shape;
  if (!from.IsArray() || !to.IsArray()) {
    return Bad("operand and result must be arrays; got ", Describe(from),
               " and ", Describe(to));
  }
  // Tiling pads the array in memory, so element counts may differ.
  if ((from.layout && !from.layout->tiles.empty()) ||
      (to.layout && !to.layout->tiles.empty()) ||
      BitWidth(from.element_type) != BitWidth(to.element_type)) {
    return Inferred::Own();
  }
  MW_RETURN_IF_ERROR(CheckSameElementCount(instruction));
  return Inferred::Own();
}

absl::StatusOr<Inferred> InferGetDimensionSize(const Instruction& instruction) {
  MW_RETURN_IF_ERROR(CheckArray(instruction, 0));
  MW_RETURN_IF_ERROR(
      OnlyDimension(instruction, instruction.operand_shape(0).rank()).status());
  return Inferred::Array(ElementType::kS32, {});
}

absl::StatusOr<Inferred> InferSetDimensionSize(const Instruction& instruction) {
  MW_RETURN_IF_ERROR(CheckArray(instruction, 0));
  MW_RETURN_IF_ERROR(CheckScalar(instruction, 1));
  const Shape& operand = instruction.operand_shape(0);
  const Shape& size = instruction.operand_shape(1);
  if (size.element_type != ElementType::kS32) {
    return Bad("the size must be s32; got ", Describe(size));
  }
  MW_RETURN_IF_ERROR(OnlyDimension(instruction, operand.rank()).status());
  return Inferred::Like(operand);
}

}  // namespace meshwright
