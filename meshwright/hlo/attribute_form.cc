#include "meshwright/hlo/attribute_form.h"

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "meshwright/hlo/attribute_names.h"
#include "meshwright/hlo/proto_conversion.h"
#include "meshwright/hlo/text_dimension_numbers.h"
#include "meshwright/hlo/text_fields.h"
#include "meshwright/hlo/text_literal.h"
#include "meshwright/hlo/text_shape.h"
#include "meshwright/hlo/text_sharding.h"

namespace meshwright::internal {
namespace {

constexpr auto kDots =
    std::to_array({Opcode::kDot, Opcode::kScaledDot, Opcode::kRaggedDot});
constexpr auto kRaggedDot = std::to_array({Opcode::kRaggedDot});
constexpr auto kContractions =
    std::to_array({Opcode::kDot, Opcode::kScaledDot, Opcode::kRaggedDot,
                   Opcode::kConvolution, Opcode::kCustomCall});
constexpr auto kConvolutions =
    std::to_array({Opcode::kConvolution, Opcode::kCustomCall});
constexpr auto kConvolution = std::to_array({Opcode::kConvolution});
constexpr auto kWindowed =
    std::to_array({Opcode::kConvolution, Opcode::kCustomCall,
                   Opcode::kReduceWindow, Opcode::kSelectAndScatter});
constexpr auto kGather = std::to_array({Opcode::kGather});
constexpr auto kScatter = std::to_array({Opcode::kScatter});
constexpr auto kIndexed = std::to_array({Opcode::kGather, Opcode::kScatter});
constexpr auto kSlice = std::to_array({Opcode::kSlice});
constexpr auto kDynamicSlice = std::to_array({Opcode::kDynamicSlice});
constexpr auto kPad = std::to_array({Opcode::kPad});
constexpr auto kCompare = std::to_array({Opcode::kCompare});
constexpr auto kOrdered = std::to_array({Opcode::kSort, Opcode::kTopk});
constexpr auto kTopk = std::to_array({Opcode::kTopk});
constexpr auto kReducePrecision = std::to_array({Opcode::kReducePrecision});
constexpr auto kFft = std::to_array({Opcode::kFft});
constexpr auto kRng = std::to_array({Opcode::kRng});
constexpr auto kRngBits = std::to_array({Opcode::kRngBitGenerator});
constexpr auto kRngState = std::to_array({Opcode::kRngGetAndUpdateState});
constexpr auto kBatchNorm =
    std::to_array({Opcode::kBatchNormGrad, Opcode::kBatchNormInference,
                   Opcode::kBatchNormTraining});
constexpr auto kTriangularSolve = std::to_array({Opcode::kTriangularSolve});
constexpr auto kCholesky = std::to_array({Opcode::kCholesky});
constexpr auto kGetTupleElement = std::to_array({Opcode::kGetTupleElement});
constexpr auto kIota = std::to_array({Opcode::kIota});
constexpr auto kReshape = std::to_array({Opcode::kReshape});
constexpr auto kCustomCall = std::to_array({Opcode::kCustomCall});
constexpr auto kAliasing =
    std::to_array({Opcode::kCustomCall, Opcode::kFusion, Opcode::kAsyncStart,
                   Opcode::kAsyncUpdate});
constexpr auto kCollectives = std::to_array(
    {Opcode::kAllGather, Opcode::kAllGatherStart, Opcode::kAllReduce,
     Opcode::kAllReduceStart, Opcode::kAllToAll, Opcode::kCollectiveBroadcast,
     Opcode::kCollectiveReduce, Opcode::kRaggedAllToAll,
     Opcode::kReduceScatter});
constexpr auto kRooted =
    std::to_array({Opcode::kCollectiveBroadcast, Opcode::kCollectiveReduce});
constexpr auto kPermutes = std::to_array(
    {Opcode::kCollectivePermute, Opcode::kCollectivePermuteStart});
constexpr auto kChannels = std::to_array(
    {Opcode::kAllGather, Opcode::kAllGatherStart, Opcode::kAllReduce,
     Opcode::kAllReduceStart, Opcode::kAllToAll, Opcode::kCollectiveBroadcast,
     Opcode::kCollectiveReduce, Opcode::kRaggedAllToAll, Opcode::kReduceScatter,
     Opcode::kCollectivePermute, Opcode::kCollectivePermuteStart, Opcode::kSend,
     Opcode::kSendDone, Opcode::kRecv, Opcode::kRecvDone});
constexpr auto kTransfers = std::to_array(
    {Opcode::kSend, Opcode::kSendDone, Opcode::kRecv, Opcode::kRecvDone});
constexpr auto kInfeed = std::to_array({Opcode::kInfeed});
constexpr auto kOutfeed = std::to_array({Opcode::kOutfeed});
constexpr auto kScan = std::to_array({Opcode::kScan});

// Reads a value of the field's type.
template <typename T>
void ReadValue(TextLexer& lexer, T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    value = lexer.Flag();
  } else if constexpr (std::is_same_v<T, int32_t>) {
    value = lexer.SmallInteger();
  } else if constexpr (std::is_same_v<T, int64_t>) {
    value = lexer.Integer();
  } else if constexpr (std::is_same_v<T, float>) {
    value = ReadFloatText(lexer);
  } else {
    value = lexer.Integers();
  }
}

// Reads a field of Attributes.
template <auto field>
void Plain(AttributeText& text) {
  ReadValue(text.lexer, text.Own().*field);
}

// Reads a field of one of its messages, which exists from then on.
template <auto message, auto field>
void Nested(AttributeText& text) {
  auto& value = text.Own().*message;
  if (!value.has_value()) value.emplace();
  ReadValue(text.lexer, (*value).*field);
}

// Reads a field that has its own reader.
template <auto field, auto read>
void With(AttributeText& text) {
  text.Own().*field = read(text.lexer);
}

template <auto field>
void String(AttributeText& text) {
  text.Own().*field = text.lexer.Quoted();
}

template <auto field>
void Word(AttributeText& text) {
  text.Own().*field = std::string(text.lexer.Word("a word"));
}

// Since 2026 XLA prints this for what was type=TOTALORDER.
void ComparisonOrder(AttributeText& text) {
  const size_t start = text.lexer.position();
  const absl::string_view order = text.lexer.Word("an order");
  if (order == "TOTAL") {
    text.Own().comparison_type = "TOTALORDER";
  } else if (text.lexer.ok() && order != "PARTIAL") {
    text.lexer.FailAt(start,
                      absl::StrCat("'", order, "' is none of TOTAL, PARTIAL"));
  }
}

// The number of an enum's value; values without a name are numbers in text.
int32_t ReadEnum(TextLexer& lexer, absl::Span<const absl::string_view> names) {
  if (lexer.NextIsDigit() || lexer.NextIs("-")) return lexer.SmallInteger();
  const size_t start = lexer.position();
  const absl::string_view word = lexer.Word("a word");
  for (size_t i = 0; i < names.size(); ++i) {
    if (absl::EqualsIgnoreCase(names[i], word)) return static_cast<int32_t>(i);
  }
  lexer.FailAt(start, absl::StrCat("'", word, "' is none of ",
                                   absl::StrJoin(names, ", ")));
  return 0;
}

template <auto field, const auto& names>
void Enum(AttributeText& text) {
  text.Own().*field = ReadEnum(text.lexer, names);
}

PrecisionConfig& Precision(AttributeText& text) {
  std::optional<PrecisionConfig>& precision = text.Own().precision;
  return precision.has_value() ? *precision : precision.emplace();
}

void OperandPrecision(AttributeText& text) {
  std::vector<int32_t>& operands = Precision(text).operand_precision;
  text.lexer.List(
      "{", "}", [&] { operands.push_back(ReadEnum(text.lexer, kPrecisions)); });
}

void Algorithm(AttributeText& text) {
  Precision(text).algorithm = ReadEnum(text.lexer, kAlgorithms);
}

void TransposeA(AttributeText& text) {
  auto& options = text.Own().triangular_solve;
  if (!options.has_value()) options.emplace();
  options->transpose_a = ReadEnum(text.lexer, kTransposes);
}

void CholeskyLower(AttributeText& text) {
  text.Own().cholesky_lower = text.lexer.Flag();
}

void FirstDimension(AttributeText& text) {
  text.Own().dimensions = {text.lexer.Integer()};
}

void LiteralOfCall(AttributeText& text) {
  const Shape shape = ReadShapeText(text.lexer);
  text.Own().literal =
      std::make_shared<const Literal>(ReadLiteralText(text.lexer, shape));
}

void OperandLayouts(AttributeText& text) {
  Attributes& own = text.Own();
  own.constrain_layout = true;
  text.lexer.List("{", "}", [&] {
    own.operand_shapes_with_layout.push_back(ReadShapeText(text.lexer));
  });
}

void ExecutionThread(AttributeText& text) {
  text.instruction.attributes.mutate().async_execution_thread =
      text.lexer.Quoted();
}

template <auto list>
void OfRaggedDot(AttributeText& text) {
  text.*list = text.lexer.Integers();
}

// Fields of the schema that are preserved but not interpreted, by number.
template <int number>
void CarriedFlag(AttributeText& text) {
  AddField(number, text.lexer.Flag() ? 1 : 0, text.Wrapped().unknown_fields);
}

template <int number>
void CarriedInteger(AttributeText& text) {
  AddField(number, text.lexer.Integer(), text.Wrapped().unknown_fields);
}

template <int number>
void CarriedString(AttributeText& text) {
  AddField(number, text.lexer.Quoted(), text.Wrapped().unknown_fields);
}

template <int number>
void CarriedShape(AttributeText& text) {
  pb::ShapeProto proto;
  WriteShape(ReadShapeText(text.lexer), &proto);
  AddField(number, proto.SerializeAsString(), text.Wrapped().unknown_fields);
}

// 1 is true, 2 is false, 0 is unknown.
template <int number>
void CarriedTriState(AttributeText& text) {
  AddField(number, text.lexer.Flag() ? 1 : 2, text.Wrapped().unknown_fields);
}

using A = Attributes;
using Dot = DotDimensionNumbers;
using Gather = GatherDimensionNumbers;
using Scatter = ScatterDimensionNumbers;
using Solve = TriangularSolveOptions;

constexpr AttributeForm kForms[] = {
    {"dimensions", Plain<&A::dimensions>},
    {"iota_dimension", FirstDimension, kIota, true},
    {"inferred_dimension", FirstDimension, kReshape},
    {"index", Plain<&A::tuple_index>, kGetTupleElement, true},
    {"kind", Word<&A::fusion_kind>, kFusion, true},

    {"lhs_contracting_dims", Nested<&A::dot, &Dot::lhs_contracting>, kDots},
    {"rhs_contracting_dims", Nested<&A::dot, &Dot::rhs_contracting>, kDots},
    {"lhs_batch_dims", Nested<&A::dot, &Dot::lhs_batch>, kDots},
    {"rhs_batch_dims", Nested<&A::dot, &Dot::rhs_batch>, kDots},
    {"lhs_ragged_dims", OfRaggedDot<&AttributeText::lhs_ragged_dims>,
     kRaggedDot, true},
    {"rhs_group_dims", OfRaggedDot<&AttributeText::rhs_group_dims>, kRaggedDot},
    {"operand_precision", OperandPrecision, kContractions},
    {"algorithm", Algorithm, kContractions},
    {"window", With<&A::window, ReadWindow>, kWindowed},
    {"dim_labels", With<&A::convolution, ReadDimLabels>, kConvolution, true},
    {"dim_labels", With<&A::convolution, ReadDimLabels>, kCustomCall},
    {"feature_group_count", Plain<&A::feature_group_count>, kConvolutions},
    {"batch_group_count", Plain<&A::batch_group_count>, kConvolutions},

    {"offset_dims", Nested<&A::gather, &Gather::offset_dims>, kGather, true},
    {"collapsed_slice_dims", Nested<&A::gather, &Gather::collapsed_slice_dims>,
     kGather, true},
    {"start_index_map", Nested<&A::gather, &Gather::start_index_map>, kGather,
     true},
    {"index_vector_dim", Nested<&A::gather, &Gather::index_vector_dim>, kGather,
     true},
    {"operand_batching_dims",
     Nested<&A::gather, &Gather::operand_batching_dims>, kGather},
    {"start_indices_batching_dims",
     Nested<&A::gather, &Gather::start_indices_batching_dims>, kGather},
    {"slice_sizes", Plain<&A::gather_slice_sizes>, kGather, true},
    {"update_window_dims", Nested<&A::scatter, &Scatter::update_window_dims>,
     kScatter, true},
    {"inserted_window_dims",
     Nested<&A::scatter, &Scatter::inserted_window_dims>, kScatter, true},
    {"scatter_dims_to_operand_dims",
     Nested<&A::scatter, &Scatter::scatter_dims_to_operand_dims>, kScatter,
     true},
    {"index_vector_dim", Nested<&A::scatter, &Scatter::index_vector_dim>,
     kScatter, true},
    {"input_batching_dims", Nested<&A::scatter, &Scatter::input_batching_dims>,
     kScatter},
    {"scatter_indices_batching_dims",
     Nested<&A::scatter, &Scatter::scatter_indices_batching_dims>, kScatter},
    {"indices_are_sorted", Plain<&A::indices_are_sorted>, kIndexed},
    {"unique_indices", Plain<&A::unique_indices>, kIndexed},
    {"slice", With<&A::slice, ReadSlice>, kSlice, true},
    {"dynamic_slice_sizes", Plain<&A::dynamic_slice_sizes>, kDynamicSlice,
     true},
    {"padding", With<&A::padding, ReadPadding>, kPad, true},

    {"direction", Word<&A::comparison_direction>, kCompare, true},
    {"type", Word<&A::comparison_type>, kCompare},
    {"order", ComparisonOrder, kCompare},
    {"is_stable", Plain<&A::is_stable>, kOrdered},
    {"k", Plain<&A::k>, kTopk, true},
    {"largest", Plain<&A::largest>, kTopk},
    {"exponent_bits", Plain<&A::exponent_bits>, kReducePrecision, true},
    {"mantissa_bits", Plain<&A::mantissa_bits>, kReducePrecision, true},
    {"fft_type", Enum<&A::fft_type, kFftTypes>, kFft, true},
    {"fft_length", Plain<&A::fft_length>, kFft, true},
    {"distribution", Enum<&A::distribution, kDistributions>, kRng, true},
    {"algorithm", Enum<&A::rng_algorithm, kRngAlgorithms>, kRngBits, true},
    {"delta", Plain<&A::delta>, kRngState, true},
    {"epsilon", Plain<&A::epsilon>, kBatchNorm, true},
    {"feature_index", Plain<&A::feature_index>, kBatchNorm, true},
    {"left_side", Nested<&A::triangular_solve, &Solve::left_side>,
     kTriangularSolve},
    {"lower", Nested<&A::triangular_solve, &Solve::lower>, kTriangularSolve},
    {"unit_diagonal", Nested<&A::triangular_solve, &Solve::unit_diagonal>,
     kTriangularSolve},
    {"transpose_a", TransposeA, kTriangularSolve},
    {"lower", CholeskyLower, kCholesky},

    {"channel_id", Plain<&A::channel_id>, kChannels},
    {"replica_groups", With<&A::replica_groups, ReadGroups>, kCollectives},
    {"use_global_device_ids", Plain<&A::use_global_device_ids>, kCollectives},
    {"constrain_layout", Plain<&A::constrain_layout>, kCollectives},
    {"source_target_pairs", With<&A::source_target_pairs, ReadSourceTargets>,
     kPermutes, true},

    {"custom_call_target", String<&A::custom_call_target>, kCustomCall, true},
    {"custom_call_has_side_effect", Plain<&A::custom_call_has_side_effect>,
     kCustomCall},
    {"schedule", Enum<&A::custom_call_schedule, kSchedules>, kCustomCall},
    {"api_version", Enum<&A::custom_call_api_version, kApiVersions>,
     kCustomCall},
    {"operand_layout_constraints", OperandLayouts, kCustomCall},
    {"literal", LiteralOfCall, kCustomCall},
    {"output_to_operand_aliasing",
     With<&A::output_operand_aliasing, ReadOperandAliasing>, kAliasing},
    {"async_execution_thread", ExecutionThread, kAsync},
    {"is_composite", Plain<&A::is_composite>, kCall},

    {"is_host_transfer", CarriedFlag<47>, kTransfers},
    {"has_dynamic_root", CarriedFlag<100>, kRooted},
    {"infeed_config", CarriedString<27>, kInfeed},
    {"outfeed_config", CarriedString<22>, kOutfeed},
    {"outfeed_shape", CarriedShape<29>, kOutfeed},
    {"is_reverse", CarriedFlag<94>, kScan},
    {"num_carries", CarriedInteger<95>, kScan},
    {"is_associative", CarriedTriState<96>, kScan},
};

}  // namespace

absl::Span<const AttributeForm> OwnForms() { return kForms; }

}  // namespace meshwright::internal
