// Dimension numbers and similar records: which dimension of an operand means
// what.
#ifndef MESHWRIGHT_HLO_DIMENSION_NUMBERS_H_
#define MESHWRIGHT_HLO_DIMENSION_NUMBERS_H_

#include <cstdint>
#include <string>
#include <vector>

namespace meshwright {

// Result dimensions: batch, then lhs free, then rhs free.
struct DotDimensionNumbers {
  std::vector<int64_t> lhs_contracting;
  std::vector<int64_t> rhs_contracting;
  std::vector<int64_t> lhs_batch;
  std::vector<int64_t> rhs_batch;
  std::string unknown_fields;
};

struct ConvolutionDimensionNumbers {
  int64_t input_batch = 0;
  int64_t input_feature = 0;
  std::vector<int64_t> input_spatial;
  int64_t kernel_input_feature = 0;
  int64_t kernel_output_feature = 0;
  std::vector<int64_t> kernel_spatial;
  int64_t output_batch = 0;
  int64_t output_feature = 0;
  std::vector<int64_t> output_spatial;
  std::string unknown_fields;
};

struct WindowDimension {
  int64_t size = 1;
  int64_t stride = 1;
  int64_t padding_low = 0;
  int64_t padding_high = 0;
  int64_t window_dilation = 1;
  int64_t base_dilation = 1;
  bool window_reversal = false;
  std::string unknown_fields;
};

struct Window {
  std::vector<WindowDimension> dimensions;
  std::string unknown_fields;
};

struct GatherDimensionNumbers {
  std::vector<int64_t> offset_dims;
  std::vector<int64_t> collapsed_slice_dims;
  std::vector<int64_t> start_index_map;
  int64_t index_vector_dim = 0;
  std::vector<int64_t> operand_batching_dims;
  std::vector<int64_t> start_indices_batching_dims;
  std::string unknown_fields;
};

struct ScatterDimensionNumbers {
  std::vector<int64_t> update_window_dims;
  std::vector<int64_t> inserted_window_dims;
  std::vector<int64_t> scatter_dims_to_operand_dims;
  int64_t index_vector_dim = 0;
  std::vector<int64_t> input_batching_dims;
  std::vector<int64_t> scatter_indices_batching_dims;
  std::string unknown_fields;
};

struct SliceDimension {
  int64_t start = 0;
  int64_t limit = 0;
  int64_t stride = 1;
  std::string unknown_fields;
};

struct PaddingDimension {
  int64_t edge_low = 0;
  int64_t edge_high = 0;
  int64_t interior = 0;
  std::string unknown_fields;
};

struct PaddingConfig {
  std::vector<PaddingDimension> dimensions;
  std::string unknown_fields;
};

// 0 default, 1 high, 2 highest, per operand; algorithm 0 is unset.
struct PrecisionConfig {
  std::vector<int32_t> operand_precision;
  int32_t algorithm = 0;
  std::string unknown_fields;
};

struct SourceTarget {
  int64_t source = 0;
  int64_t target = 0;
  std::string unknown_fields;
};

struct OutputOperandAliasing {
  std::vector<int64_t> output_shape_index;
  int64_t operand_index = 0;
  std::vector<int64_t> operand_shape_index;
  std::string unknown_fields;
};

struct TriangularSolveOptions {
  bool left_side = false;
  bool lower = false;
  bool unit_diagonal = false;
  int32_t transpose_a = 0;  // 1 no, 2 transpose, 3 adjoint.
  std::string unknown_fields;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_DIMENSION_NUMBERS_H_
