#include "meshwright/hlo/print_attributes.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "meshwright/hlo/attribute_names.h"
#include "meshwright/hlo/print_called.h"
#include "meshwright/hlo/print_dimension_numbers.h"
#include "meshwright/hlo/print_literal.h"
#include "meshwright/hlo/print_names.h"
#include "meshwright/hlo/ragged_dot_numbers.h"
#include "meshwright/hlo/scan_numbers.h"

namespace meshwright::internal {
namespace {

void AppendFlag(absl::string_view name, bool value, std::string* out) {
  if (value) absl::StrAppend(out, ", ", name, "=true");
}

void AppendScan(const ScanFields& fields, std::string* out) {
  AppendFlag("is_reverse", fields.is_reverse != 0, out);
  if (fields.is_associative != 0) {
    absl::StrAppend(out, ", is_associative=",
                    fields.is_associative == 1 ? "true" : "false");
  }
  if (fields.num_carries != 0) {
    absl::StrAppend(out, ", num_carries=", fields.num_carries);
  }
}

void AppendDimensions(const Attributes& attributes, std::string* out) {
  absl::StrAppend(out, ", dimensions=");
  AppendList(attributes.dimensions, out);
}

void AppendWindowAttribute(const Attributes& attributes, std::string* out) {
  if (!attributes.window.has_value()) return;
  absl::StrAppend(out, ", window=");
  AppendWindow(*attributes.window, out);
}

// The attributes that convolutions share with the custom calls that replace
// them.
void AppendConvolution(const Attributes& attributes, std::string* out) {
  AppendWindowAttribute(attributes, out);
  if (attributes.convolution.has_value()) {
    absl::StrAppend(out, ", dim_labels=");
    AppendDimLabels(*attributes.convolution, out);
  }
  if (attributes.feature_group_count > 1) {
    absl::StrAppend(out,
                    ", feature_group_count=", attributes.feature_group_count);
  }
  if (attributes.batch_group_count > 1) {
    absl::StrAppend(out, ", batch_group_count=", attributes.batch_group_count);
  }
  if (attributes.precision.has_value()) {
    AppendPrecision(*attributes.precision, out);
  }
}

void AppendDotAttributes(const Attributes& attributes, std::string* out) {
  if (attributes.dot.has_value()) AppendDot(*attributes.dot, out);
  if (attributes.precision.has_value()) {
    AppendPrecision(*attributes.precision, out);
  }
}

void AppendRaggedDot(const Instruction& instruction, std::string* out) {
  const absl::StatusOr<RaggedDotNumbers> numbers =
      RaggedDotNumbersOf(instruction);
  if (numbers.ok()) {
    AppendDot(numbers->dot, out);
    absl::StrAppend(out, ", lhs_ragged_dims={", numbers->ragged, "}");
    if (numbers->rhs_group >= 0) {
      absl::StrAppend(out, ", rhs_group_dims={", numbers->rhs_group, "}");
    }
  }
  AppendDotAttributes(*instruction.attributes, out);
}

void AppendGatherAttributes(const Attributes& attributes, std::string* out) {
  if (attributes.gather.has_value()) AppendGather(*attributes.gather, out);
  absl::StrAppend(out, ", slice_sizes=");
  AppendList(attributes.gather_slice_sizes, out);
  AppendFlag("indices_are_sorted", attributes.indices_are_sorted, out);
}

void AppendScatterAttributes(const Attributes& attributes, std::string* out) {
  if (attributes.scatter.has_value()) AppendScatter(*attributes.scatter, out);
  AppendFlag("indices_are_sorted", attributes.indices_are_sorted, out);
  AppendFlag("unique_indices", attributes.unique_indices, out);
}

void AppendComparison(const Instruction& compare, std::string* out) {
  const Attributes& attributes = *compare.attributes;
  absl::StrAppend(out, ", direction=", attributes.comparison_direction);
  const bool is_default =
      !compare.operands.empty() &&
      attributes.comparison_type ==
          DefaultComparison(compare.operand_shape(0).element_type);
  if (!attributes.comparison_type.empty() && !is_default) {
    absl::StrAppend(out, ", type=", attributes.comparison_type);
  }
}

void AppendChannel(const Attributes& attributes, std::string* out) {
  if (attributes.channel_id > 0) {
    absl::StrAppend(out, ", channel_id=", attributes.channel_id);
  }
}

// Which attributes to print.
struct Wanted {
  PrintOptions options;
  bool called = true;
  bool devices = true;
};

void AppendCollective(const Attributes& attributes, const Wanted& wanted,
                      std::string* out) {
  AppendChannel(attributes, out);
  if (wanted.devices) {
    absl::StrAppend(out, ", replica_groups=");
    AppendGroups(attributes.replica_groups, out);
  }
  AppendFlag("constrain_layout", attributes.constrain_layout, out);
  if (!attributes.dimensions.empty()) AppendDimensions(attributes, out);
  AppendFlag("use_global_device_ids", attributes.use_global_device_ids, out);
}

void AppendPermute(const Attributes& attributes, const Wanted& wanted,
                   std::string* out) {
  AppendChannel(attributes, out);
  if (!wanted.devices) return;
  absl::StrAppend(out, ", source_target_pairs=");
  AppendSourceTargets(attributes.source_target_pairs, out);
}

void AppendAliasing(const Attributes& attributes, std::string* out) {
  if (attributes.output_operand_aliasing.empty()) return;
  absl::StrAppend(out, ", output_to_operand_aliasing=");
  AppendOperandAliasing(attributes.output_operand_aliasing, out);
}

void AppendOperandLayouts(const Attributes& attributes, std::string* out) {
  if (!attributes.constrain_layout) return;
  absl::StrAppend(out, ", operand_layout_constraints={");
  for (size_t i = 0; i < attributes.operand_shapes_with_layout.size(); ++i) {
    if (i > 0) absl::StrAppend(out, ", ");
    absl::StrAppend(out, attributes.operand_shapes_with_layout[i].ToString(
                             /*with_layout=*/true));
  }
  absl::StrAppend(out, "}");
}

void AppendCustomCall(const Attributes& attributes, const PrintOptions& options,
                      std::string* out) {
  AppendConvolution(attributes, out);
  absl::StrAppend(out, ", custom_call_target=");
  AppendQuoted(attributes.custom_call_target, out);
  AppendOperandLayouts(attributes, out);
  AppendFlag("custom_call_has_side_effect",
             attributes.custom_call_has_side_effect, out);
  if (attributes.literal != nullptr) {
    absl::StrAppend(out, ", literal=",
                    attributes.literal->shape.ToString(/*with_layout=*/true),
                    " ");
    AppendLiteral(*attributes.literal, options.large_constants, out);
  }
  AppendAliasing(attributes, out);
  if (attributes.custom_call_schedule != 0) {
    absl::StrAppend(out, ", schedule=",
                    EnumName(kSchedules, attributes.custom_call_schedule));
  }
  // XLA reads none as the original one, and its parser does not know "none".
  if (attributes.custom_call_api_version > kApiVersionOriginal) {
    absl::StrAppend(out, ", api_version=",
                    EnumName(kApiVersions, attributes.custom_call_api_version));
  }
}

void AppendAsync(const Attributes& attributes, std::string* out) {
  const std::string& thread = attributes.async_execution_thread;
  if (thread.empty() || thread == "main") return;
  absl::StrAppend(out, ", async_execution_thread=");
  AppendQuoted(thread, out);
}

void AppendFusion(const Attributes& attributes, std::string* out) {
  absl::StrAppend(out, ", kind=");
  AppendWord(attributes.fusion_kind, out);
  AppendAliasing(attributes, out);
}

void AppendFft(const Attributes& attributes, std::string* out) {
  absl::StrAppend(out, ", fft_type=", EnumName(kFftTypes, attributes.fft_type),
                  ", fft_length=");
  AppendList(attributes.fft_length, out);
}

void AppendBatchNorm(const Attributes& attributes, std::string* out) {
  absl::StrAppend(out, ", epsilon=");
  AppendFloat(attributes.epsilon, out);
  absl::StrAppend(out, ", feature_index=", attributes.feature_index);
}

void AppendPad(const Attributes& attributes, std::string* out) {
  absl::StrAppend(out, ", padding=");
  if (attributes.padding.has_value()) {
    AppendPadding(*attributes.padding, out);
  }
}

// Attributes of opcodes that have few.
void AppendSmallAttributes(Opcode opcode, const Attributes& attributes,
                           std::string* out) {
  const auto first_dimension = [&]() -> int64_t {
    return attributes.dimensions.empty() ? 0 : attributes.dimensions[0];
  };
  switch (opcode) {
    case Opcode::kGetTupleElement:
      absl::StrAppend(out, ", index=", attributes.tuple_index);
      return;
    case Opcode::kIota:
      absl::StrAppend(out, ", iota_dimension=", first_dimension());
      return;
    case Opcode::kReshape:
      if (attributes.dimensions.empty() || first_dimension() < 0) return;
      absl::StrAppend(out, ", inferred_dimension=", first_dimension());
      return;
    case Opcode::kSlice:
      absl::StrAppend(out, ", slice=");
      return AppendSlice(attributes.slice, out);
    case Opcode::kDynamicSlice:
      absl::StrAppend(out, ", dynamic_slice_sizes=");
      return AppendList(attributes.dynamic_slice_sizes, out);
    case Opcode::kReducePrecision:
      absl::StrAppend(out, ", exponent_bits=", attributes.exponent_bits,
                      ", mantissa_bits=", attributes.mantissa_bits);
      return;
    case Opcode::kRng:
      absl::StrAppend(out, ", distribution=",
                      EnumName(kDistributions, attributes.distribution));
      return;
    case Opcode::kRngBitGenerator:
      absl::StrAppend(out, ", algorithm=",
                      EnumName(kRngAlgorithms, attributes.rng_algorithm));
      return;
    case Opcode::kRngGetAndUpdateState:
      absl::StrAppend(out, ", delta=", attributes.delta);
      return;
    case Opcode::kTopk:
      absl::StrAppend(out, ", k=", attributes.k,
                      ", largest=", attributes.largest ? "true" : "false");
      return;
    case Opcode::kTriangularSolve:
      if (!attributes.triangular_solve.has_value()) return;
      return AppendTriangularSolve(*attributes.triangular_solve, out);
    case Opcode::kCholesky:
      AppendFlag("lower", attributes.cholesky_lower.value_or(false), out);
      return;
    default:
      // Opcodes that this version does not know, or that have no attributes.
      if (!attributes.dimensions.empty()) AppendDimensions(attributes, out);
  }
}

// The opcode's attributes, except called computations.
void AppendOwnAttributes(const Instruction& instruction, const Wanted& wanted,
                         std::string* out) {
  const Attributes& attributes = *instruction.attributes;
  switch (instruction.opcode) {
    case Opcode::kBroadcast:
    case Opcode::kTranspose:
    case Opcode::kReverse:
    case Opcode::kConcatenate:
    case Opcode::kReduce:
    case Opcode::kMap:
    case Opcode::kGetDimensionSize:
    case Opcode::kSetDimensionSize:
      return AppendDimensions(attributes, out);
    case Opcode::kScan:
      AppendDimensions(attributes, out);
      return AppendScan(ScanFieldsOf(instruction), out);
    case Opcode::kSort:
      AppendDimensions(attributes, out);
      return AppendFlag("is_stable", attributes.is_stable, out);
    case Opcode::kRaggedDot:
      return AppendRaggedDot(instruction, out);
    case Opcode::kDot:
    case Opcode::kScaledDot:
      return AppendDotAttributes(attributes, out);
    case Opcode::kConvolution:
      return AppendConvolution(attributes, out);
    case Opcode::kReduceWindow:
    case Opcode::kSelectAndScatter:
      return AppendWindowAttribute(attributes, out);
    case Opcode::kGather:
      return AppendGatherAttributes(attributes, out);
    case Opcode::kScatter:
      return AppendScatterAttributes(attributes, out);
    case Opcode::kPad:
      return AppendPad(attributes, out);
    case Opcode::kCompare:
      return AppendComparison(instruction, out);
    case Opcode::kFft:
      return AppendFft(attributes, out);
    case Opcode::kBatchNormGrad:
    case Opcode::kBatchNormInference:
    case Opcode::kBatchNormTraining:
      return AppendBatchNorm(attributes, out);
    case Opcode::kAllGather:
    case Opcode::kAllGatherStart:
    case Opcode::kAllReduce:
    case Opcode::kAllReduceStart:
    case Opcode::kAllToAll:
    case Opcode::kCollectiveBroadcast:
    case Opcode::kCollectiveReduce:
    case Opcode::kRaggedAllToAll:
    case Opcode::kReduceScatter:
      return AppendCollective(attributes, wanted, out);
    case Opcode::kCollectivePermute:
    case Opcode::kCollectivePermuteStart:
      return AppendPermute(attributes, wanted, out);
    case Opcode::kSend:
    case Opcode::kSendDone:
    case Opcode::kRecv:
    case Opcode::kRecvDone:
      return AppendChannel(attributes, out);
    case Opcode::kCustomCall:
      return AppendCustomCall(attributes, wanted.options, out);
    case Opcode::kFusion:
      return AppendFusion(attributes, out);
    case Opcode::kAsyncStart:
      return AppendAsync(attributes, out);
    default:
      return AppendSmallAttributes(instruction.opcode, attributes, out);
  }
}

void AppendMetadataField(absl::string_view name, const std::string& value,
                         std::string* out) {
  if (value.empty()) return;
  if (out->back() != '{') absl::StrAppend(out, " ");
  absl::StrAppend(out, name, "=");
  AppendQuoted(value, out);
}

void AppendMetadata(const Metadata& metadata, std::string* out) {
  if (metadata.op_type.empty() && metadata.op_name.empty() &&
      metadata.source_file.empty() && metadata.source_line == 0) {
    return;
  }
  absl::StrAppend(out, ", metadata={");
  AppendMetadataField("op_type", metadata.op_type, out);
  AppendMetadataField("op_name", metadata.op_name, out);
  AppendMetadataField("source_file", metadata.source_file, out);
  if (metadata.source_line != 0) {
    absl::StrAppend(out, out->back() == '{' ? "" : " ",
                    "source_line=", metadata.source_line);
  }
  absl::StrAppend(out, "}");
}

void Append(const Instruction& instruction, const Wanted& wanted,
            std::string* out) {
  AppendOwnAttributes(instruction, wanted, out);
  if (wanted.called) AppendCalled(instruction, out);
  if (instruction.sharding.has_value()) {
    absl::StrAppend(out, ", sharding=", instruction.sharding->ToString());
  }
  if (!instruction.frontend_attributes.empty()) {
    absl::StrAppend(out, ", frontend_attributes=");
    AppendFrontendAttributes(instruction.frontend_attributes, out);
  }
  if (!instruction.control_predecessors.empty()) {
    absl::StrAppend(out, ", control-predecessors={");
    for (const Instruction* predecessor : instruction.control_predecessors) {
      if (out->back() != '{') absl::StrAppend(out, ", ");
      AppendName(predecessor->name, out);
    }
    absl::StrAppend(out, "}");
  }
  if (wanted.options.metadata) AppendMetadata(instruction.metadata, out);
  if (!instruction.attributes->backend_config.empty()) {
    absl::StrAppend(out, ", backend_config=");
    AppendStringOrDict(instruction.attributes->backend_config, out);
  }
}

}  // namespace

void AppendAttributes(const Instruction& instruction,
                      const PrintOptions& options, std::string* out) {
  Append(instruction, {.options = options}, out);
}

void AppendPlainAttributes(const Instruction& instruction, std::string* out) {
  Append(instruction,
         {.options = {.metadata = false}, .called = false, .devices = false},
         out);
}

}  // namespace meshwright::internal
