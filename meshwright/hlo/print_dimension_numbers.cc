#include "meshwright/hlo/print_dimension_numbers.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "meshwright/hlo/attribute_names.h"
#include "meshwright/hlo/print_names.h"

namespace meshwright::internal {
namespace {

// Appends " name=AxBxC", unless every dimension has the default value.
template <typename Field>
void AppendWindowField(const Window& window, absl::string_view name,
                       int64_t default_value, Field field, std::string* out) {
  const auto is_default = [&](const WindowDimension& dim) {
    return field(dim) == default_value;
  };
  if (std::ranges::all_of(window.dimensions, is_default)) return;
  absl::StrAppend(out, " ", name, "=",
                  absl::StrJoin(window.dimensions, "x",
                                [&](std::string* text, const auto& dim) {
                                  absl::StrAppend(text, field(dim));
                                }));
}

void AppendWindowPadding(const Window& window, std::string* out) {
  const auto is_default = [](const WindowDimension& dim) {
    return dim.padding_low == 0 && dim.padding_high == 0;
  };
  if (std::ranges::all_of(window.dimensions, is_default)) return;
  absl::StrAppend(out, " pad=",
                  absl::StrJoin(window.dimensions, "x",
                                [](std::string* text, const auto& dim) {
                                  absl::StrAppend(text, dim.padding_low, "_",
                                                  dim.padding_high);
                                }));
}

// The letters of one operand, by dimension. Numbers that no dimension can have
// are omitted.
std::string LabelText(int64_t first, char first_label, int64_t second,
                      char second_label, const std::vector<int64_t>& spatial) {
  constexpr int64_t kMaxLabelled = 64;
  std::vector<std::string> labels;
  const auto set = [&](int64_t dim, std::string label) {
    if (dim < 0 || dim >= kMaxLabelled) return;
    if (dim >= std::ssize(labels)) labels.resize(dim + 1, "?");
    labels[dim] = std::move(label);
  };
  set(first, std::string(1, first_label));
  set(second, std::string(1, second_label));
  for (size_t i = 0; i < spatial.size(); ++i) set(spatial[i], absl::StrCat(i));
  return absl::StrJoin(labels, "");
}

void AppendListAttribute(absl::string_view name,
                         const std::vector<int64_t>& values, std::string* out) {
  absl::StrAppend(out, ", ", name, "=");
  AppendList(values, out);
}

void AppendNonEmptyList(absl::string_view name,
                        const std::vector<int64_t>& values, std::string* out) {
  if (!values.empty()) AppendListAttribute(name, values, out);
}

}  // namespace

void AppendList(const std::vector<int64_t>& values, std::string* out) {
  absl::StrAppend(out, "{", absl::StrJoin(values, ","), "}");
}

void AppendWindow(const Window& window, std::string* out) {
  using Dim = WindowDimension;
  absl::StrAppend(out, "{");
  if (!window.dimensions.empty()) {
    absl::StrAppend(out, "size=",
                    absl::StrJoin(window.dimensions, "x",
                                  [](std::string* text, const Dim& dim) {
                                    absl::StrAppend(text, dim.size);
                                  }));
  }
  AppendWindowField(
      window, "stride", 1, [](const Dim& dim) { return dim.stride; }, out);
  AppendWindowPadding(window, out);
  AppendWindowField(
      window, "lhs_dilate", 1, [](const Dim& dim) { return dim.base_dilation; },
      out);
  AppendWindowField(
      window, "rhs_dilate", 1,
      [](const Dim& dim) { return dim.window_dilation; }, out);
  AppendWindowField(
      window, "rhs_reversal", 0,
      [](const Dim& dim) { return int64_t{dim.window_reversal}; }, out);
  absl::StrAppend(out, "}");
}

void AppendDimLabels(const ConvolutionDimensionNumbers& numbers,
                     std::string* out) {
  absl::StrAppend(
      out,
      LabelText(numbers.input_batch, 'b', numbers.input_feature, 'f',
                numbers.input_spatial),
      "_",
      LabelText(numbers.kernel_input_feature, 'i',
                numbers.kernel_output_feature, 'o', numbers.kernel_spatial),
      "->",
      LabelText(numbers.output_batch, 'b', numbers.output_feature, 'f',
                numbers.output_spatial));
}

void AppendPadding(const PaddingConfig& padding, std::string* out) {
  const bool interior = std::ranges::any_of(
      padding.dimensions,
      [](const PaddingDimension& dim) { return dim.interior != 0; });
  absl::StrAppend(
      out, absl::StrJoin(padding.dimensions, "x",
                         [&](std::string* text, const PaddingDimension& dim) {
                           absl::StrAppend(text, dim.edge_low, "_",
                                           dim.edge_high);
                           if (interior) {
                             absl::StrAppend(text, "_", dim.interior);
                           }
                         }));
}

void AppendSlice(const std::vector<SliceDimension>& slice, std::string* out) {
  absl::StrAppend(
      out, "{",
      absl::StrJoin(slice, ", ",
                    [](std::string* text, const SliceDimension& dim) {
                      absl::StrAppend(text, "[", dim.start, ":", dim.limit);
                      if (dim.stride != 1) {
                        absl::StrAppend(text, ":", dim.stride);
                      }
                      absl::StrAppend(text, "]");
                    }),
      "}");
}

void AppendGroups(const std::vector<std::vector<int64_t>>& groups,
                  std::string* out) {
  absl::StrAppend(out, "{");
  for (size_t i = 0; i < groups.size(); ++i) {
    if (i > 0) absl::StrAppend(out, ",");
    AppendList(groups[i], out);
  }
  absl::StrAppend(out, "}");
}

void AppendSourceTargets(const std::vector<SourceTarget>& pairs,
                         std::string* out) {
  absl::StrAppend(
      out, "{",
      absl::StrJoin(pairs, ",",
                    [](std::string* text, const SourceTarget& pair) {
                      absl::StrAppend(text, "{", pair.source, ",", pair.target,
                                      "}");
                    }),
      "}");
}

void AppendOperandAliasing(const std::vector<OutputOperandAliasing>& aliases,
                           std::string* out) {
  absl::StrAppend(
      out, "{",
      absl::StrJoin(aliases, ", ",
                    [](std::string* text, const OutputOperandAliasing& alias) {
                      AppendList(alias.output_shape_index, text);
                      absl::StrAppend(text, ": (", alias.operand_index, ", ");
                      AppendList(alias.operand_shape_index, text);
                      absl::StrAppend(text, ")");
                    }),
      "}");
}

void AppendDot(const DotDimensionNumbers& numbers, std::string* out) {
  AppendNonEmptyList("lhs_batch_dims", numbers.lhs_batch, out);
  AppendListAttribute("lhs_contracting_dims", numbers.lhs_contracting, out);
  AppendNonEmptyList("rhs_batch_dims", numbers.rhs_batch, out);
  AppendListAttribute("rhs_contracting_dims", numbers.rhs_contracting, out);
}

void AppendGather(const GatherDimensionNumbers& numbers, std::string* out) {
  AppendListAttribute("offset_dims", numbers.offset_dims, out);
  AppendListAttribute("collapsed_slice_dims", numbers.collapsed_slice_dims,
                      out);
  AppendListAttribute("start_index_map", numbers.start_index_map, out);
  AppendNonEmptyList("operand_batching_dims", numbers.operand_batching_dims,
                     out);
  AppendNonEmptyList("start_indices_batching_dims",
                     numbers.start_indices_batching_dims, out);
  absl::StrAppend(out, ", index_vector_dim=", numbers.index_vector_dim);
}

void AppendScatter(const ScatterDimensionNumbers& numbers, std::string* out) {
  AppendListAttribute("update_window_dims", numbers.update_window_dims, out);
  AppendListAttribute("inserted_window_dims", numbers.inserted_window_dims,
                      out);
  AppendListAttribute("scatter_dims_to_operand_dims",
                      numbers.scatter_dims_to_operand_dims, out);
  AppendNonEmptyList("input_batching_dims", numbers.input_batching_dims, out);
  AppendNonEmptyList("scatter_indices_batching_dims",
                     numbers.scatter_indices_batching_dims, out);
  absl::StrAppend(out, ", index_vector_dim=", numbers.index_vector_dim);
}

void AppendPrecision(const PrecisionConfig& precision, std::string* out) {
  const std::vector<int32_t>& operands = precision.operand_precision;
  if (std::ranges::any_of(operands, [](int32_t value) { return value != 0; })) {
    absl::StrAppend(out, ", operand_precision={",
                    absl::StrJoin(operands, ",",
                                  [](std::string* text, int32_t value) {
                                    absl::StrAppend(
                                        text, EnumName(kPrecisions, value));
                                  }),
                    "}");
  }
  if (precision.algorithm != 0) {
    absl::StrAppend(out,
                    ", algorithm=", EnumName(kAlgorithms, precision.algorithm));
  }
}

void AppendTriangularSolve(const TriangularSolveOptions& options,
                           std::string* out) {
  if (options.left_side) absl::StrAppend(out, ", left_side=true");
  if (options.lower) absl::StrAppend(out, ", lower=true");
  if (options.unit_diagonal) absl::StrAppend(out, ", unit_diagonal=true");
  if (options.transpose_a != 0) {
    absl::StrAppend(
        out, ", transpose_a=", EnumName(kTransposes, options.transpose_a));
  }
}

}  // namespace meshwright::internal
