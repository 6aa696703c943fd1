#include "meshwright/base/text_cursor.h"

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "meshwright/base/status_macros.h"

namespace meshwright {
namespace {

constexpr size_t kShownCharacters = 60;

// The length of the longest prefix whose characters all satisfy `is_part`.
template <typename IsPart>
size_t PrefixLength(absl::string_view text, IsPart is_part) {
  size_t length = 0;
  while (length < text.size() && is_part(text[length])) ++length;
  return length;
}

bool IsNameCharacter(char c) {
  return absl::ascii_isalnum(c) || c == '_' || c == '.';
}

}  // namespace

bool TextCursor::AtEnd() {
  SkipBlanks();
  return rest_.empty();
}

bool TextCursor::NextIsDigit() {
  return !AtEnd() && absl::ascii_isdigit(rest_[0]);
}

bool TextCursor::NextIs(absl::string_view token) {
  SkipBlanks();
  return rest_.substr(0, token.size()) == token;
}

bool TextCursor::Take(absl::string_view token) {
  SkipBlanks();
  return absl::ConsumePrefix(&rest_, token);
}

absl::Status TextCursor::Expect(absl::string_view token) {
  if (Take(token)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("expected '", token, "' ", Where()));
}

absl::Status TextCursor::ExpectEnd() {
  if (AtEnd()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("expected nothing ", Where()));
}

absl::StatusOr<absl::string_view> TextCursor::Name(absl::string_view what) {
  SkipBlanks();
  const size_t length = PrefixLength(rest_, IsNameCharacter);
  if (length == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected ", what, " ", Where()));
  }
  const absl::string_view name = rest_.substr(0, length);
  rest_.remove_prefix(length);
  return name;
}

absl::StatusOr<int64_t> TextCursor::Number() {
  SkipBlanks();
  const size_t length =
      PrefixLength(rest_, [](char c) { return absl::ascii_isdigit(c); });
  int64_t value = 0;
  if (!absl::SimpleAtoi(rest_.substr(0, length), &value)) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected a number ", Where()));
  }
  rest_.remove_prefix(length);
  return value;
}

absl::StatusOr<absl::string_view> TextCursor::Quoted() {
  MW_RETURN_IF_ERROR(Expect("\""));
  const size_t length = PrefixLength(rest_, [](char c) { return c != '"'; });
  const absl::string_view text = rest_.substr(0, length);
  rest_.remove_prefix(length);
  MW_RETURN_IF_ERROR(Expect("\""));
  return text;
}

std::string TextCursor::Where() {
  if (AtEnd()) return "at the end";
  return absl::StrCat("before '", rest_.substr(0, kShownCharacters), "'");
}

void TextCursor::SkipBlanks() {
  rest_ = absl::StripLeadingAsciiWhitespace(rest_);
}

}  // namespace meshwright
