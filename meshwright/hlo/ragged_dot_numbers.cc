#include "meshwright/hlo/ragged_dot_numbers.h"

#include <algorithm>

#include "meshwright/base/check.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/hlo/proto_conversion.h"
#include "meshwright/hlo/shape_checks.h"

namespace meshwright {
namespace {

using internal::ToVector;
using Ragged = RaggedDotNumbers::Ragged;

bool Contains(const std::vector<int64_t>& dimensions, int64_t dimension) {
  return std::ranges::find(dimensions, dimension) != dimensions.end();
}

std::vector<int64_t> Unused(const DimensionSet& used, int64_t rank) {
  std::vector<int64_t> others;
  for (int64_t i = 0; i < rank; ++i) {
    if (!used[i]) others.push_back(i);
  }
  return others;
}

std::vector<int64_t> Before(const std::vector<int64_t>& dimensions,
                            int64_t dimension) {
  return {dimensions.begin(), std::ranges::find(dimensions, dimension)};
}

absl::Status CheckEqual(const Shape& lhs, const std::vector<int64_t>& of_lhs,
                        const Shape& rhs, const std::vector<int64_t>& of_rhs) {
  if (of_lhs.size() != of_rhs.size()) {
    return Bad("batch and contracting dimensions must come in pairs");
  }
  for (size_t i = 0; i < of_lhs.size(); ++i) {
    if (lhs.dimensions[of_lhs[i]] != rhs.dimensions[of_rhs[i]]) {
      return Bad("sizes differ; expected ", lhs.dimensions[of_lhs[i]],
                 " (lhs dimension ", of_lhs[i], "), got ",
                 rhs.dimensions[of_rhs[i]], " (rhs dimension ", of_rhs[i], ")");
    }
  }
  return absl::OkStatus();
}

// Sets what follows from the position of the ragged dimension.
void Classify(RaggedDotNumbers& numbers) {
  std::vector<int64_t> outer = numbers.dot.lhs_batch;
  std::vector<int64_t> before;
  if (Contains(numbers.dot.lhs_batch, numbers.ragged)) {
    numbers.kind = Ragged::kBatch;
    outer = Before(numbers.dot.lhs_batch, numbers.ragged);
  } else if (Contains(numbers.dot.lhs_contracting, numbers.ragged)) {
    numbers.kind = Ragged::kContracted;
    before = Before(numbers.dot.lhs_contracting, numbers.ragged);
  } else {
    before = Before(numbers.lhs_free, numbers.ragged);
  }
  outer.insert(outer.end(), before.begin(), before.end());
  numbers.outer = std::move(outer);
}

absl::Status CheckSizes(const Instruction& instruction,
                        RaggedDotNumbers& numbers) {
  const Shape& lhs = instruction.operand_shape(0);
  const Shape& sizes = instruction.operand_shape(2);
  if (sizes.rank() == 1) {
    numbers.outer.clear();
    return absl::OkStatus();
  }
  if (sizes.rank() != std::ssize(numbers.outer) + 1) {
    return Bad("group sizes must have 1 or ", numbers.outer.size() + 1,
               " dimensions; got ", sizes.rank());
  }
  for (size_t i = 0; i < numbers.outer.size(); ++i) {
    if (sizes.dimensions[i] != lhs.dimensions[numbers.outer[i]]) {
      return Bad("dimension ", i, " of the group sizes must be ",
                 lhs.dimensions[numbers.outer[i]], "; got ",
                 sizes.dimensions[i]);
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<RaggedDotNumbers> RaggedDotNumbersOf(
    const Instruction& instruction) {
  pb::RaggedDotFields fields;
  if (instruction.operands.size() != 3 ||
      !fields.ParseFromString(instruction.unknown_fields) ||
      !fields.has_ragged_dot_dimension_numbers()) {
    return Bad("no ragged-dot dimension numbers");
  }
  MW_RETURN_IF_ERROR(CheckArrays(instruction));
  const pb::RaggedDotDimensionNumbers& proto =
      fields.ragged_dot_dimension_numbers();
  const pb::DotDimensionNumbers& dot = proto.dot_dimension_numbers();
  RaggedDotNumbers numbers;
  numbers.dot.lhs_contracting = ToVector(dot.lhs_contracting_dimensions());
  numbers.dot.rhs_contracting = ToVector(dot.rhs_contracting_dimensions());
  numbers.dot.lhs_batch = ToVector(dot.lhs_batch_dimensions());
  numbers.dot.rhs_batch = ToVector(dot.rhs_batch_dimensions());
  const std::vector<int64_t> groups = ToVector(proto.rhs_group_dimensions());
  const Shape& lhs = instruction.operand_shape(0);
  const Shape& rhs = instruction.operand_shape(1);
  DimensionSet of_lhs, of_rhs, of_ragged;
  MW_RETURN_IF_ERROR(CheckDimensions("lhs_batch_dims", numbers.dot.lhs_batch,
                                     lhs.rank(), of_lhs));
  MW_RETURN_IF_ERROR(CheckDimensions(
      "lhs_contracting_dims", numbers.dot.lhs_contracting, lhs.rank(), of_lhs));
  MW_RETURN_IF_ERROR(CheckDimensions("rhs_batch_dims", numbers.dot.rhs_batch,
                                     rhs.rank(), of_rhs));
  MW_RETURN_IF_ERROR(CheckDimensions(
      "rhs_contracting_dims", numbers.dot.rhs_contracting, rhs.rank(), of_rhs));
  MW_RETURN_IF_ERROR(
      CheckDimensions("rhs_group_dims", groups, rhs.rank(), of_rhs));
  MW_RETURN_IF_ERROR(CheckDimensions("lhs_ragged_dims",
                                     ToVector(proto.lhs_ragged_dimensions()),
                                     lhs.rank(), of_ragged));
  MW_RETURN_IF_ERROR(
      CheckEqual(lhs, numbers.dot.lhs_batch, rhs, numbers.dot.rhs_batch));
  MW_RETURN_IF_ERROR(CheckEqual(lhs, numbers.dot.lhs_contracting, rhs,
                                numbers.dot.rhs_contracting));
  if (proto.lhs_ragged_dimensions_size() != 1 || groups.size() > 1) {
    return Bad("expected one ragged dimension and at most one of groups");
  }
  numbers.ragged = proto.lhs_ragged_dimensions(0);
  numbers.lhs_free = Unused(of_lhs, lhs.rank());
  numbers.rhs_free = Unused(of_rhs, rhs.rank());
  Classify(numbers);
  if (groups.empty() != (numbers.kind != Ragged::kFree)) {
    return Bad("the right operand must have groups if, and only if, the ",
               "ragged dimension is a free one");
  }
  if (instruction.operand_shape(2).rank() < 1) {
    return Bad("group sizes must have dimensions");
  }
  if (!groups.empty()) {
    numbers.rhs_group = groups[0];
    const int64_t count = instruction.operand_shape(2).dimensions.back();
    if (rhs.dimensions[groups[0]] != count) {
      return Bad("the right operand must have ", count, " groups; got ",
                 rhs.dimensions[groups[0]]);
    }
  }
  MW_RETURN_IF_ERROR(CheckSizes(instruction, numbers));
  return numbers;
}

void SetRaggedDotNumbers(const RaggedDotNumbers& numbers,
                         Instruction& instruction) {
  pb::RaggedDotFields fields;
  MW_CHECK(fields.ParseFromString(instruction.unknown_fields));
  pb::RaggedDotDimensionNumbers& proto =
      *fields.mutable_ragged_dot_dimension_numbers();
  pb::DotDimensionNumbers& dot = *proto.mutable_dot_dimension_numbers();
  const auto set = [](const std::vector<int64_t>& dimensions, auto* field) {
    field->Assign(dimensions.begin(), dimensions.end());
  };
  set(numbers.dot.lhs_contracting, dot.mutable_lhs_contracting_dimensions());
  set(numbers.dot.rhs_contracting, dot.mutable_rhs_contracting_dimensions());
  set(numbers.dot.lhs_batch, dot.mutable_lhs_batch_dimensions());
  set(numbers.dot.rhs_batch, dot.mutable_rhs_batch_dimensions());
  set({numbers.ragged}, proto.mutable_lhs_ragged_dimensions());
  if (numbers.rhs_group >= 0) {
    set({numbers.rhs_group}, proto.mutable_rhs_group_dimensions());
  }
  instruction.unknown_fields = fields.SerializeAsString();
}

}  // namespace meshwright
