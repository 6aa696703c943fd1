// Attributes that only some opcodes have: dimension numbers, windows, groups
// and so on. Field names follow the HLO schema; absent fields have the schema's
// defaults.
#ifndef MESHWRIGHT_HLO_ATTRIBUTES_H_
#define MESHWRIGHT_HLO_ATTRIBUTES_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "meshwright/hlo/dimension_numbers.h"
#include "meshwright/hlo/literal.h"
#include "meshwright/hlo/shape.h"

namespace meshwright {

struct Attributes {
  std::string opcode_name;  // Of an opcode this version does not know.

  // Everywhere.
  std::vector<int64_t> dimensions;
  std::string backend_config;

  // parameter, get-tuple-element, constant, fusion.
  int64_t parameter_number = 0;
  int64_t tuple_index = 0;
  std::shared_ptr<const Literal> literal;
  std::string fusion_kind;

  // dot, convolution, reduce-window, select-and-scatter.
  std::optional<DotDimensionNumbers> dot;
  std::optional<ConvolutionDimensionNumbers> convolution;
  std::optional<Window> window;
  int64_t feature_group_count = 0;  // 0 reads as 1.
  int64_t batch_group_count = 0;    // 0 reads as 1.
  std::optional<PrecisionConfig> precision;

  // gather, scatter, slice, dynamic-slice, pad.
  std::optional<GatherDimensionNumbers> gather;
  std::optional<ScatterDimensionNumbers> scatter;
  std::vector<int64_t> gather_slice_sizes;
  bool indices_are_sorted = false;
  bool unique_indices = false;
  std::vector<SliceDimension> slice;
  std::vector<int64_t> dynamic_slice_sizes;
  std::optional<PaddingConfig> padding;

  // compare, sort, topk, reduce-precision, fft, rng, batch-norm, solvers.
  std::string comparison_direction;  // EQ NE GE GT LE LT
  std::string comparison_type;
  bool is_stable = false;
  int64_t k = 0;
  bool largest = false;
  int32_t exponent_bits = 0;
  int32_t mantissa_bits = 0;
  int32_t fft_type = 0;
  std::vector<int64_t> fft_length;
  int32_t distribution = 0;
  int32_t rng_algorithm = 0;
  int64_t delta = 0;
  float epsilon = 0;
  int64_t feature_index = 0;
  std::optional<TriangularSolveOptions> triangular_solve;
  std::optional<bool> cholesky_lower;

  // Collectives. Groups are always explicit lists.
  int64_t channel_id = 0;
  std::vector<std::vector<int64_t>> replica_groups;
  bool use_global_device_ids = false;
  std::vector<SourceTarget> source_target_pairs;
  bool constrain_layout = false;

  // custom-call, call, async ops.
  std::string custom_call_target;
  bool custom_call_has_side_effect = false;
  int32_t custom_call_schedule = 0;
  int32_t custom_call_api_version = 0;
  std::vector<Shape> operand_shapes_with_layout;
  std::vector<OutputOperandAliasing> output_operand_aliasing;
  std::string async_execution_thread;
  bool is_composite = false;  // The call represents a composite operation.
};

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_ATTRIBUTES_H_
