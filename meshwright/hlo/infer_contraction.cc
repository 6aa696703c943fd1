// dot, ragged-dot and convolution.
#include <algorithm>

#include "meshwright/base/annotate.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/hlo/infer_rules.h"
#include "meshwright/hlo/ragged_dot_numbers.h"
#include "meshwright/hlo/shape_checks.h"
#include "meshwright/hlo/window_size.h"

namespace meshwright {
namespace {

// The result's type is the program's choice (preferred_element_type).
absl::Status CheckResultType(const Instruction& instruction) {
  if (instruction.shape.IsArray()) return absl::OkStatus();
  return Bad("the result must be an array; got ", Describe(instruction.shape));
}

// Paired dimensions of the two operands have equal sizes.
absl::Status CheckPairs(const Instruction& instruction, absl::string_view what,
                        const std::vector<int64_t>& lhs,
                        const std::vector<int64_t>& rhs) {
  if (lhs.size() != rhs.size()) {
    return Bad("wrong number of ", what, " dimensions; expected as many for ",
               "both operands, got ", lhs.size(), " and ", rhs.size());
  }
  for (size_t i = 0; i < lhs.size(); ++i) {
    const int64_t left = instruction.operand_shape(0).dimensions[lhs[i]];
    const int64_t right = instruction.operand_shape(1).dimensions[rhs[i]];
    if (left != right) {
      return Bad(what, " sizes differ; expected ", left, " (lhs dimension ",
                 lhs[i], "), got ", right, " (rhs dimension ", rhs[i], ")");
    }
  }
  return absl::OkStatus();
}

void AppendFree(const Shape& shape, const DimensionSet& used,
                std::vector<int64_t>& dimensions) {
  for (size_t d = 0; d < shape.dimensions.size(); ++d) {
    if (!used[d]) dimensions.push_back(shape.dimensions[d]);
  }
}

// Batch, feature and spatial dimensions together name every dimension once.
absl::Status CheckRoles(absl::string_view what, int64_t first, int64_t second,
                        const std::vector<int64_t>& spatial, int64_t rank) {
  if (std::ssize(spatial) + 2 != rank) {
    return Bad("wrong number of ", what, " spatial dimensions; expected ",
               rank - 2, ", got ", spatial.size());
  }
  DimensionSet seen;
  MW_RETURN_IF_ERROR(CheckDimensions(what, {first, second}, rank, seen));
  return CheckDimensions(what, spatial, rank, seen);
}

absl::Status CheckGroups(const Shape& lhs, const Shape& rhs,
                         const ConvolutionDimensionNumbers& numbers,
                         int64_t feature_groups, int64_t batch_groups) {
  if (feature_groups > 1 && batch_groups > 1) {
    return Bad("feature_group_count and batch_group_count cannot both exceed ",
               "1; got ", feature_groups, " and ", batch_groups);
  }
  const int64_t features = lhs.dimensions[numbers.input_feature];
  const int64_t kernel_in = rhs.dimensions[numbers.kernel_input_feature];
  const int64_t kernel_out = rhs.dimensions[numbers.kernel_output_feature];
  int64_t expected;
  if (__builtin_mul_overflow(kernel_in, feature_groups, &expected) ||
      expected != features) {
    return Bad("input features must be the kernel's times ",
               "feature_group_count; expected ", kernel_in, " * ",
               feature_groups, ", got ", features);
  }
  if (kernel_out % feature_groups != 0 || kernel_out % batch_groups != 0) {
    return Bad("group counts must divide the output features; got ", kernel_out,
               " features, ", feature_groups, " feature groups and ",
               batch_groups, " batch groups");
  }
  const int64_t batch = lhs.dimensions[numbers.input_batch];
  if (batch % batch_groups != 0) {
    return Bad("batch_group_count must divide the batch; got ", batch_groups,
               " groups for ", batch);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Inferred> InferDot(const Instruction& instruction) {
  // Further operands describe sparsity and change the contracted sizes.
  if (instruction.operands.size() > 2) return Inferred::Own();
  MW_RETURN_IF_ERROR(CheckArrays(instruction));
  if (!instruction.attributes->dot) return Bad("no dot dimension numbers");
  MW_RETURN_IF_ERROR(CheckResultType(instruction));
  const DotDimensionNumbers& numbers = *instruction.attributes->dot;
  const Shape& lhs = instruction.operand_shape(0);
  const Shape& rhs = instruction.operand_shape(1);
  DimensionSet of_lhs, of_rhs;
  MW_RETURN_IF_ERROR(
      CheckDimensions("lhs_batch_dims", numbers.lhs_batch, lhs.rank(), of_lhs));
  MW_RETURN_IF_ERROR(
      CheckDimensions("rhs_batch_dims", numbers.rhs_batch, rhs.rank(), of_rhs));
  MW_RETURN_IF_ERROR(CheckDimensions(
      "lhs_contracting_dims", numbers.lhs_contracting, lhs.rank(), of_lhs));
  MW_RETURN_IF_ERROR(CheckDimensions(
      "rhs_contracting_dims", numbers.rhs_contracting, rhs.rank(), of_rhs));
  MW_RETURN_IF_ERROR(
      CheckPairs(instruction, "batch", numbers.lhs_batch, numbers.rhs_batch));
  MW_RETURN_IF_ERROR(CheckPairs(instruction, "contracting",
                                numbers.lhs_contracting,
                                numbers.rhs_contracting));
  std::vector<int64_t> dimensions;
  for (const int64_t d : numbers.lhs_batch) {
    dimensions.push_back(lhs.dimensions[d]);
  }
  AppendFree(lhs, of_lhs, dimensions);
  AppendFree(rhs, of_rhs, dimensions);
  return Inferred::Array(instruction.shape.element_type, std::move(dimensions));
}

absl::StatusOr<Inferred> InferRaggedDot(const Instruction& instruction) {
  MW_ASSIGN_OR_RETURN(const RaggedDotNumbers numbers,
                      RaggedDotNumbersOf(instruction));
  MW_RETURN_IF_ERROR(CheckResultType(instruction));
  const Shape& lhs = instruction.operand_shape(0);
  const Shape& rhs = instruction.operand_shape(1);
  std::vector<int64_t> dimensions;
  if (numbers.kind == RaggedDotNumbers::Ragged::kContracted) {
    dimensions.push_back(instruction.operand_shape(2).dimensions.back());
  }
  for (const int64_t d : numbers.dot.lhs_batch) {
    dimensions.push_back(lhs.dimensions[d]);
  }
  for (const int64_t d : numbers.lhs_free) {
    dimensions.push_back(lhs.dimensions[d]);
  }
  for (const int64_t d : numbers.rhs_free) {
    dimensions.push_back(rhs.dimensions[d]);
  }
  return Inferred::Array(instruction.shape.element_type, std::move(dimensions));
}

absl::StatusOr<Inferred> InferConvolution(const Instruction& instruction) {
  MW_RETURN_IF_ERROR(CheckArrays(instruction));
  const Attributes& attributes = *instruction.attributes;
  if (!attributes.convolution) return Bad("no convolution dimension numbers");
  MW_RETURN_IF_ERROR(CheckResultType(instruction));
  const ConvolutionDimensionNumbers& numbers = *attributes.convolution;
  const Window& window = WindowOrEmpty(attributes.window);
  const Shape& lhs = instruction.operand_shape(0);
  const Shape& rhs = instruction.operand_shape(1);
  const int64_t rank = lhs.rank();
  MW_RETURN_IF_ERROR(CheckRoles("input", numbers.input_batch,
                                numbers.input_feature, numbers.input_spatial,
                                rank));
  MW_RETURN_IF_ERROR(CheckRoles("kernel", numbers.kernel_input_feature,
                                numbers.kernel_output_feature,
                                numbers.kernel_spatial, rhs.rank()));
  MW_RETURN_IF_ERROR(CheckRoles("output", numbers.output_batch,
                                numbers.output_feature, numbers.output_spatial,
                                rank));
  if (rhs.rank() != rank || std::ssize(window.dimensions) + 2 != rank) {
    return Bad("input, kernel and window differ in spatial dimensions; got ",
               rank - 2, ", ", rhs.rank() - 2, " and ",
               window.dimensions.size());
  }
  const int64_t feature_groups =
      std::max<int64_t>(1, attributes.feature_group_count);
  const int64_t batch_groups =
      std::max<int64_t>(1, attributes.batch_group_count);
  MW_RETURN_IF_ERROR(
      CheckGroups(lhs, rhs, numbers, feature_groups, batch_groups));
  std::vector<int64_t> dimensions(lhs.dimensions.size());
  dimensions[numbers.output_batch] =
      lhs.dimensions[numbers.input_batch] / batch_groups;
  dimensions[numbers.output_feature] =
      rhs.dimensions[numbers.kernel_output_feature];
  for (size_t i = 0; i < window.dimensions.size(); ++i) {
    const int64_t size = rhs.dimensions[numbers.kernel_spatial[i]];
    if (window.dimensions[i].size != size) {
      return Bad("window dimension ", i, " differs from the kernel; expected ",
                 size, ", got ", window.dimensions[i].size);
    }
    absl::StatusOr<int64_t> places = WindowPlaces(
        lhs.dimensions[numbers.input_spatial[i]], window.dimensions[i]);
    if (!places.ok()) {
      return Annotate(places.status(), absl::StrCat("window dimension ", i));
    }
    dimensions[numbers.output_spatial[i]] = *places;
  }
  return Inferred::Array(instruction.shape.element_type, std::move(dimensions));
}

}  // namespace meshwright
