#include "meshwright/hlo/text_attributes.h"

#include <algorithm>
#include <array>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "meshwright/hlo/attribute_form.h"
#include "meshwright/hlo/attribute_names.h"
#include "meshwright/hlo/text_metadata.h"
#include "meshwright/hlo/text_sharding.h"
#include "proto/hlo.pb.h"

namespace meshwright::internal {
namespace {

using SeenAttributes = absl::flat_hash_set<absl::string_view>;

// Attributes that do not affect the meaning of a program.
constexpr std::array<absl::string_view, 5> kInformative = {
    "origin", "statistics", "parameter_replication",
    "cross_program_prefetch_index", "debug_attributes"};

void Sharding(AttributeText& text) {
  text.instruction.sharding.mutate() = ReadShardingText(text.lexer);
}

void Frontend(AttributeText& text) {
  text.instruction.frontend_attributes = ReadFrontendAttributesText(text.lexer);
}

void Meta(AttributeText& text) {
  text.instruction.metadata = ReadMetadataText(text.lexer);
}

// The config of the wrapped instruction, if there is one: it says how that is
// computed.
void BackendConfig(AttributeText& text) {
  text.Own().backend_config = text.lexer.StringOrDict();
}

void ControlPredecessors(AttributeText& text) {
  text.lexer.List("{", "}", [&] {
    const size_t start = text.lexer.position();
    text.control_predecessors.emplace_back(text.lexer.Name(), start);
  });
}

// Attributes that every instruction may have.
constexpr AttributeForm kCommonForms[] = {
    {"sharding", Sharding},
    {"frontend_attributes", Frontend},
    {"metadata", Meta},
    {"backend_config", BackendConfig},
    {"control-predecessors", ControlPredecessors},
};

bool IsFor(const AttributeForm& form, Opcode opcode) {
  return form.opcodes.empty() ||
         std::ranges::find(form.opcodes, opcode) != form.opcodes.end();
}

// The row for this name and opcode; null if there is none.
const AttributeForm* FormOf(absl::string_view name, const AttributeText& text) {
  for (const absl::Span<const AttributeForm> forms :
       {absl::MakeConstSpan(kCommonForms), OwnForms(), CalledForms()}) {
    for (const AttributeForm& form : forms) {
      if (form.name != name) continue;
      if (IsFor(form, text.instruction.opcode) ||
          (text.wrapped != nullptr && IsFor(form, text.wrapped->opcode))) {
        return &form;
      }
    }
  }
  return nullptr;
}

void CheckRequired(AttributeText& text, size_t start,
                   const SeenAttributes& seen) {
  const Instruction& wrapped = text.Wrapped();
  for (const absl::Span<const AttributeForm> forms :
       {OwnForms(), CalledForms()}) {
    for (const AttributeForm& form : forms) {
      if (!form.required || seen.contains(form.name)) continue;
      if (!IsFor(form, wrapped.opcode)) continue;
      text.lexer.FailAt(start, absl::StrCat(wrapped.opcode_name(), " needs ",
                                            form.name, "="));
    }
  }
}

void ReadAttribute(AttributeText& text, SeenAttributes& seen) {
  const size_t start = text.lexer.position();
  const absl::string_view name = text.lexer.Word("an attribute");
  if (!seen.insert(name).second) {
    text.lexer.FailAt(start, absl::StrCat("'", name, "' stands here twice"));
  }
  if (std::ranges::find(kInformative, name) != kInformative.end()) {
    text.lexer.Expect("=");
    return text.lexer.SkipValue();
  }
  const AttributeForm* form = FormOf(name, text);
  if (form == nullptr) {
    const absl::string_view opcode = text.Wrapped().opcode_name();
    text.lexer.FailAt(start,
                      absl::StrCat("'", name, "' is no attribute of ", opcode));
    return;
  }
  text.lexer.Expect("=");
  form->read(text);
}

template <typename Field>
void AddAll(const std::vector<int64_t>& values, Field* field) {
  field->Add(values.begin(), values.end());
}

// The schema has ragged-dot's numbers in a message of their own.
void SetRaggedDot(AttributeText& text) {
  const DotDimensionNumbers dot =
      text.Own().dot.value_or(DotDimensionNumbers());
  text.Own().dot.reset();
  pb::RaggedDotFields fields;
  auto& numbers = *fields.mutable_ragged_dot_dimension_numbers();
  auto& proto = *numbers.mutable_dot_dimension_numbers();
  AddAll(dot.lhs_contracting, proto.mutable_lhs_contracting_dimensions());
  AddAll(dot.rhs_contracting, proto.mutable_rhs_contracting_dimensions());
  AddAll(dot.lhs_batch, proto.mutable_lhs_batch_dimensions());
  AddAll(dot.rhs_batch, proto.mutable_rhs_batch_dimensions());
  AddAll(text.lhs_ragged_dims, numbers.mutable_lhs_ragged_dimensions());
  AddAll(text.rhs_group_dims, numbers.mutable_rhs_group_dimensions());
  text.Wrapped().unknown_fields += fields.SerializeAsString();
}

void SetPrecision(AttributeText& text) {
  std::optional<PrecisionConfig>& precision = text.Own().precision;
  if (!precision.has_value()) precision.emplace();
  if (precision->operand_precision.empty()) {
    precision->operand_precision.resize(text.Wrapped().operands.size(), 0);
  }
}

void SetComparisonType(AttributeText& text) {
  const Instruction& compare = text.Wrapped();
  std::string& type = text.Own().comparison_type;
  if (!type.empty() || compare.operands.empty()) return;
  type = std::string(DefaultComparison(compare.operand_shape(0).element_type));
}

void SetGroupCounts(Attributes& own) {
  if (own.feature_group_count == 0) own.feature_group_count = 1;
  if (own.batch_group_count == 0) own.batch_group_count = 1;
}

void SetWindow(Attributes& own) {
  if (!own.window.has_value()) own.window.emplace();
}

// The first of a chain of asynchronous operations names the computation for
// all.
void SetAsync(Instruction& instruction) {
  if (instruction.opcode == Opcode::kAsyncStart) {
    std::string& thread =
        instruction.attributes.mutate().async_execution_thread;
    if (thread.empty()) thread = "main";
  } else if (instruction.called.empty() && !instruction.operands.empty()) {
    instruction.called = instruction.operands[0]->called;
  }
}

// Sets attributes that the text omits because they have the default value.
void SetDefaults(AttributeText& text, const SeenAttributes& seen) {
  switch (text.Wrapped().opcode) {
    case Opcode::kDot:
      if (!text.Own().dot.has_value()) text.Own().dot.emplace();
      return SetPrecision(text);
    case Opcode::kScaledDot:
      return SetPrecision(text);
    case Opcode::kRaggedDot:
      SetPrecision(text);
      return SetRaggedDot(text);
    case Opcode::kConvolution:
      SetGroupCounts(text.Own());
      SetPrecision(text);
      return SetWindow(text.Own());
    case Opcode::kReduceWindow:
    case Opcode::kSelectAndScatter:
      return SetWindow(text.Own());
    case Opcode::kCompare:
      return SetComparisonType(text);
    case Opcode::kCustomCall:
      if (seen.contains("api_version")) return;
      text.Own().custom_call_api_version = kApiVersionOriginal;
      return;
    case Opcode::kTriangularSolve:
      if (!text.Own().triangular_solve.has_value()) {
        text.Own().triangular_solve.emplace();
      }
      return;
    case Opcode::kCholesky:
      if (!text.Own().cholesky_lower.has_value()) {
        text.Own().cholesky_lower = false;
      }
      return;
    default:
      return;
  }
}

bool IsAsync(Opcode opcode) {
  return opcode == Opcode::kAsyncStart || opcode == Opcode::kAsyncUpdate ||
         opcode == Opcode::kAsyncDone;
}

}  // namespace

void ReadAttributesText(AttributeText& text) {
  const size_t start = text.lexer.position();
  SeenAttributes seen;
  while (text.lexer.Take(",")) ReadAttribute(text, seen);
  CheckRequired(text, start, seen);
  if (!text.lexer.ok()) return;
  SetDefaults(text, seen);
  if (IsAsync(text.instruction.opcode)) SetAsync(text.instruction);
}

}  // namespace meshwright::internal
