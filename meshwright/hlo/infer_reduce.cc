// Operations that apply a scalar computation across an array: reduce, map,
// sort, topk.
#include "meshwright/base/status_macros.h"
#include "meshwright/hlo/computation.h"
#include "meshwright/hlo/infer_rules.h"
#include "meshwright/hlo/shape_checks.h"

namespace meshwright {
namespace {

absl::Status CheckSameDimensions(const Instruction& instruction, size_t count) {
  const Shape& first = instruction.operand_shape(0);
  for (size_t i = 1; i < count; ++i) {
    const Shape& input = instruction.operand_shape(i);
    if (input.dimensions != first.dimensions) {
      return Bad("operand ", i, " is not shaped like operand 0; got ",
                 Describe(input), " and ", Describe(first));
    }
  }
  return absl::OkStatus();
}

// The element types that the called computation returns, one per result.
absl::StatusOr<Inferred::Types> ReturnedTypes(const Instruction& instruction,
                                              size_t count) {
  const Computation* callee = instruction.called[0];
  if (callee == nullptr || callee->root() == nullptr) {
    return Bad("the called computation is empty");
  }
  const Shape& result = callee->root()->shape;
  Inferred::Types types;
  if (!result.IsTuple()) {
    types.push_back(result.element_type);
  } else {
    for (const Shape& element : result.tuple_shapes) {
      types.push_back(element.element_type);
    }
  }
  if (types.size() != count) {
    return Bad("the called computation returns the wrong number of values; ",
               "expected ", count, ", got ", Describe(result));
  }
  for (const ElementType type : types) {
    if (!IsArrayType(type)) {
      return Bad("the called computation must return scalars; got ",
                 Describe(result));
    }
  }
  return types;
}

}  // namespace

absl::StatusOr<Inferred> InferReduce(const Instruction& instruction) {
  const size_t count = instruction.operands.size() / 2;
  if (instruction.operands.size() % 2 != 0) {
    return Bad("expected one initial value per input; got ",
               instruction.operands.size(), " operands");
  }
  MW_RETURN_IF_ERROR(CheckArrays(instruction));
  MW_RETURN_IF_ERROR(CheckSameDimensions(instruction, count));
  for (size_t i = 0; i < count; ++i) {
    MW_RETURN_IF_ERROR(CheckScalar(instruction, count + i));
    const ElementType input = instruction.operand_shape(i).element_type;
    const ElementType init = instruction.operand_shape(count + i).element_type;
    if (input != init) {
      return Bad("initial value ", i, " has the wrong type; expected ",
                 Name(input), ", got ", Name(init));
    }
  }
  const Shape& first = instruction.operand_shape(0);
  DimensionSet reduced;
  MW_RETURN_IF_ERROR(CheckDimensions(
      "dimensions", instruction.attributes->dimensions, first.rank(), reduced));
  std::vector<int64_t> dimensions;
  for (size_t d = 0; d < first.dimensions.size(); ++d) {
    if (!reduced[d]) dimensions.push_back(first.dimensions[d]);
  }
  MW_ASSIGN_OR_RETURN(Inferred::Types types, ReturnedTypes(instruction, count));
  return Inferred::Arrays(std::move(types), std::move(dimensions));
}

absl::StatusOr<Inferred> InferMap(const Instruction& instruction) {
  MW_RETURN_IF_ERROR(CheckArrays(instruction));
  MW_RETURN_IF_ERROR(
      CheckSameDimensions(instruction, instruction.operands.size()));
  const Shape& first = instruction.operand_shape(0);
  const std::vector<int64_t>& dimensions = instruction.attributes->dimensions;
  bool all = std::ssize(dimensions) == first.rank();
  for (size_t i = 0; all && i < dimensions.size(); ++i) {
    all = dimensions[i] == static_cast<int64_t>(i);
  }
  if (!all) {
    return Bad("map must name all dimensions in order; expected 0..",
               first.rank() - 1, ", got ", Describe(dimensions));
  }
  MW_ASSIGN_OR_RETURN(const Inferred::Types types,
                      ReturnedTypes(instruction, 1));
  return Inferred::Retyped(first, types[0]);
}

absl::StatusOr<Inferred> InferSort(const Instruction& instruction) {
  MW_RETURN_IF_ERROR(CheckArrays(instruction));
  MW_RETURN_IF_ERROR(
      CheckSameDimensions(instruction, instruction.operands.size()));
  const Shape& first = instruction.operand_shape(0);
  MW_RETURN_IF_ERROR(OnlyDimension(instruction, first.rank()).status());
  if (instruction.operands.size() == 1) return Inferred::Like(first);
  std::vector<const Shape*> shapes;
  for (const Instruction* operand : instruction.operands) {
    shapes.push_back(&operand->shape);
  }
  return Inferred::Tuple(std::move(shapes));
}

absl::StatusOr<Inferred> InferTopk(const Instruction& instruction) {
  MW_RETURN_IF_ERROR(CheckArray(instruction, 0));
  const Shape& operand = instruction.operand_shape(0);
  const int64_t k = instruction.attributes->k;
  if (operand.rank() < 1 || k < 0 || k > operand.dimensions.back()) {
    return Bad("k is out of range of the last dimension; got k ", k, " for ",
               Describe(operand));
  }
  std::vector<int64_t> dimensions = operand.dimensions;
  dimensions.back() = k;
  return Inferred::Arrays({operand.element_type, ElementType::kS32},
                          std::move(dimensions));
}

}  // namespace meshwright
