// Slicing a box out of an array, or writing one into it.
#include "meshwright/base/status_macros.h"
#include "meshwright/hlo/infer_rules.h"
#include "meshwright/hlo/shape_checks.h"

namespace meshwright {
namespace {

// The start indices, operands `first` and on: one scalar per dimension, or (an
// older form) one vector for all.
absl::Status CheckStartIndices(const Instruction& instruction, size_t first,
                               int64_t rank) {
  const size_t count = instruction.operands.size() - first;
  if (count == 1) {
    const Shape& index = instruction.operand_shape(first);
    if (index.IsArray() && index.rank() == 1 && index.dimensions[0] == rank &&
        IsInteger(index.element_type)) {
      return absl::OkStatus();
    }
  }
  if (static_cast<int64_t>(count) != rank) {
    return Bad("wrong number of start indices; expected ", rank, ", got ",
               count);
  }
  for (size_t i = first; i < instruction.operands.size(); ++i) {
    const Shape& index = instruction.operand_shape(i);
    if (!index.IsScalar() || !IsInteger(index.element_type)) {
      return Bad("start index ", i - first, " must be an integer scalar; got ",
                 Describe(index));
    }
    const Shape& front = instruction.operand_shape(first);
    if (index.element_type != front.element_type) {
      return Bad("start indices must have one type; got ", Describe(front),
                 " and ", Describe(index));
    }
  }
  return absl::OkStatus();
}

// The number of elements that start, start + stride, ... below limit visits.
absl::StatusOr<int64_t> SlicedSize(const SliceDimension& slice, int64_t size,
                                   size_t dimension) {
  if (slice.start < 0 || slice.limit > size || slice.start > slice.limit) {
    return Bad("slice of dimension ", dimension, " is out of range; expected ",
               "0 <= start <= limit <= ", size, ", got start ", slice.start,
               " and limit ", slice.limit);
  }
  if (slice.stride <= 0) {
    return Bad("stride of dimension ", dimension, " must be positive; got ",
               slice.stride);
  }
  const int64_t length = slice.limit - slice.start;
  return length == 0 ? 0 : (length - 1) / slice.stride + 1;
}

}  // namespace

absl::StatusOr<Inferred> InferSlice(const Instruction& instruction) {
  MW_RETURN_IF_ERROR(CheckArray(instruction, 0));
  const Shape& operand = instruction.operand_shape(0);
  const std::vector<SliceDimension>& slice = instruction.attributes->slice;
  if (std::ssize(slice) != operand.rank()) {
    return Bad("wrong number of sliced dimensions; expected ", operand.rank(),
               ", got ", slice.size());
  }
  std::vector<int64_t> dimensions(slice.size());
  for (size_t i = 0; i < slice.size(); ++i) {
    MW_ASSIGN_OR_RETURN(dimensions[i],
                        SlicedSize(slice[i], operand.dimensions[i], i));
  }
  return Inferred::Array(operand.element_type, std::move(dimensions));
}

absl::StatusOr<Inferred> InferDynamicSlice(const Instruction& instruction) {
  MW_RETURN_IF_ERROR(CheckArray(instruction, 0));
  const Shape& operand = instruction.operand_shape(0);
  MW_RETURN_IF_ERROR(CheckStartIndices(instruction, 1, operand.rank()));
  const std::vector<int64_t>& sizes =
      instruction.attributes->dynamic_slice_sizes;
  if (std::ssize(sizes) != operand.rank()) {
    return Bad("wrong number of slice sizes; expected ", operand.rank(),
               ", got ", sizes.size());
  }
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] < 0 || sizes[i] > operand.dimensions[i]) {
      return Bad("slice size of dimension ", i, " is out of range; expected ",
                 "0 <= size <= ", operand.dimensions[i], ", got ", sizes[i]);
    }
  }
  return Inferred::Array(operand.element_type, sizes);
}

absl::StatusOr<Inferred> InferDynamicUpdateSlice(
    const Instruction& instruction) {
  MW_RETURN_IF_ERROR(CheckArray(instruction, 0));
  const Shape& operand = instruction.operand_shape(0);
  const Shape& update = instruction.operand_shape(1);
  MW_RETURN_IF_ERROR(CheckStartIndices(instruction, 2, operand.rank()));
  bool fits = update.element_type == operand.element_type &&
              update.rank() == operand.rank();
  for (int64_t i = 0; fits && i < operand.rank(); ++i) {
    fits = update.dimensions[i] >= 0 &&
           update.dimensions[i] <= operand.dimensions[i];
  }
  if (!fits) {
    return Bad("the update does not fit in the operand; got ", Describe(update),
               " for ", Describe(operand));
  }
  return Inferred::Like(operand);
}

}  // namespace meshwright
