// The table of attribute names by which HLO text is parsed.
#ifndef MESHWRIGHT_HLO_ATTRIBUTE_FORM_H_
#define MESHWRIGHT_HLO_ATTRIBUTE_FORM_H_

#include <array>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "meshwright/hlo/opcode.h"
#include "meshwright/hlo/text_attributes.h"

namespace meshwright::internal {

// A name may have several rows, for different opcodes.
struct AttributeForm {
  absl::string_view name;
  void (*read)(AttributeText& text) = nullptr;
  absl::Span<const Opcode> opcodes = {};  // Empty: all.
  bool required = false;                  // By these opcodes.
};

// Opcodes of rows in both tables.
inline constexpr auto kFusion = std::to_array({Opcode::kFusion});
inline constexpr auto kCall = std::to_array({Opcode::kCall});
inline constexpr auto kAsync = std::to_array(
    {Opcode::kAsyncStart, Opcode::kAsyncUpdate, Opcode::kAsyncDone});

// attribute_form.cc: what opcodes have of their own.
absl::Span<const AttributeForm> OwnForms();
// called_form.cc: the computations they call.
absl::Span<const AttributeForm> CalledForms();

}  // namespace meshwright::internal

#endif  // MESHWRIGHT_HLO_ATTRIBUTE_FORM_H_
