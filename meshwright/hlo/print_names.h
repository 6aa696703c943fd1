// Prints names and strings in HLO text.
#ifndef MESHWRIGHT_HLO_PRINT_NAMES_H_
#define MESHWRIGHT_HLO_PRINT_NAMES_H_

#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "meshwright/hlo/instruction.h"

namespace meshwright::internal {

// A word of letters, digits, '_', '.' and '-' as it is; any other character
// becomes '_', as XLA does with names on reading.
void AppendWord(absl::string_view word, std::string* out);

// The name of an instruction or computation: a word, with '%' in front where
// it would lex as a keyword ("inf", "f32").
void AppendName(absl::string_view name, std::string* out);

// A C string literal: "a \"b\"\n" with the quotes and escapes.
void AppendQuoted(absl::string_view text, std::string* out);

// Braced text with balanced braces as it is, anything else quoted.
void AppendStringOrDict(absl::string_view text, std::string* out);

// "{a=\"b\",c={x}}", sorted by key.
void AppendFrontendAttributes(const FrontendAttributes& attributes,
                              std::string* out);

// The name of an enum's value, or its number when it has no name here.
std::string EnumName(absl::Span<const absl::string_view> names, int64_t value);

}  // namespace meshwright::internal

#endif  // MESHWRIGHT_HLO_PRINT_NAMES_H_
