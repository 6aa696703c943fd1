#include "meshwright/hlo/text_lexer.h"

#include <algorithm>
#include <limits>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace meshwright::internal {
namespace {

bool IsWordStart(char c) {
  return absl::ascii_isalpha(static_cast<unsigned char>(c)) || c == '_';
}

bool IsWordCharacter(char c) {
  return IsWordStart(c) || absl::ascii_isdigit(static_cast<unsigned char>(c)) ||
         c == '.' || c == '-';
}

bool IsNumberCharacter(char c) { return IsWordCharacter(c) || c == '+'; }

// The closing bracket for `c`; '\0' if `c` opens none.
char ClosingOf(char c) {
  switch (c) {
    case '{':
      return '}';
    case '(':
      return ')';
    case '[':
      return ']';
    default:
      return '\0';
  }
}

}  // namespace

void TextLexer::FailAt(size_t position, absl::string_view message) {
  if (!status_.ok()) return;
  const absl::string_view before = text_.substr(0, position);
  const auto line = 1 + std::ranges::count(before, '\n');
  const size_t newline = before.rfind('\n');
  const size_t column =
      newline == absl::string_view::npos ? position + 1 : position - newline;
  status_ = absl::InvalidArgumentError(
      absl::StrCat("line ", line, ", column ", column, ": ", message));
  position_ = text_.size();
}

void TextLexer::FailExpected(absl::string_view what) {
  const std::string got = DescribeNext();
  Fail(absl::StrCat("expected ", what, ", got ", got));
}

std::string TextLexer::DescribeNext() {
  if (AtEnd()) return "the end of the text";
  const absl::string_view rest = text_.substr(position_);
  size_t size = 1;
  if (IsNumberCharacter(rest[0])) {
    while (size < rest.size() && IsNumberCharacter(rest[size])) ++size;
  }
  const absl::string_view shown = rest.substr(0, std::min(size, kMostShown));
  return absl::StrCat("'", absl::CHexEscape(shown), "'");
}

size_t TextLexer::position() {
  while (position_ < text_.size()) {
    if (absl::ascii_isspace(static_cast<unsigned char>(text_[position_]))) {
      ++position_;
    } else if (absl::StartsWith(text_.substr(position_), "/*") ||
               absl::StartsWith(text_.substr(position_), "//")) {
      SkipComment();
    } else {
      break;
    }
  }
  return position_;
}

void TextLexer::SkipComment() {
  const bool is_line = text_[position_ + 1] == '/';
  const size_t end = text_.find(is_line ? "\n" : "*/", position_ + 2);
  if (end != absl::string_view::npos) {
    position_ = end + (is_line ? 1 : 2);
  } else if (is_line) {
    position_ = text_.size();
  } else {
    FailAt(position_, "the comment has no end");
  }
}

bool TextLexer::NextIs(absl::string_view token) {
  return absl::StartsWith(text_.substr(position()), token);
}

bool TextLexer::NextIsDigit() {
  return absl::ascii_isdigit(static_cast<unsigned char>(Next()));
}

absl::string_view TextLexer::NextWord() {
  const absl::string_view rest = text_.substr(position());
  if (rest.empty() || !IsWordStart(rest[0])) return "";
  size_t size = 1;
  while (size < rest.size() && IsWordCharacter(rest[size])) {
    if (absl::StartsWith(rest.substr(size), "->")) break;
    ++size;
  }
  return rest.substr(0, size);
}

bool TextLexer::Take(absl::string_view token) {
  if (!NextIs(token)) return false;
  position_ += token.size();
  return true;
}

bool TextLexer::TakeWord(absl::string_view word) {
  if (NextWord() != word) return false;
  position_ += word.size();
  return true;
}

void TextLexer::Expect(absl::string_view token) {
  if (!Take(token)) FailExpected(absl::StrCat("'", token, "'"));
}

absl::string_view TextLexer::Word(absl::string_view what) {
  const absl::string_view word = NextWord();
  if (word.empty()) {
    FailExpected(what);
    return "";
  }
  position_ += word.size();
  return word;
}

absl::string_view TextLexer::Name(absl::string_view what) {
  Take("%");
  return Word(what);
}

absl::string_view TextLexer::Run(absl::string_view characters) {
  const absl::string_view rest = text_.substr(position());
  const size_t size = std::min(rest.find_first_not_of(characters), rest.size());
  position_ += size;
  return rest.substr(0, size);
}

int64_t TextLexer::Integer() {
  const size_t start = position();
  const absl::string_view digits = Run("-0123456789");
  int64_t value = 0;
  if (digits.empty()) {
    FailExpected("a whole number");
  } else if (!absl::SimpleAtoi(digits, &value)) {
    FailAt(start, absl::StrCat("'", digits.substr(0, kMostShown),
                               "' is no whole number of 64 bits"));
  }
  return value;
}

int32_t TextLexer::SmallInteger() {
  const size_t start = position();
  const int64_t value = Integer();
  using Limits = std::numeric_limits<int32_t>;
  if (value < Limits::min() || value > Limits::max()) {
    FailAt(start, "the number does not fit 32 bits");
    return 0;
  }
  return static_cast<int32_t>(value);
}

bool TextLexer::Flag() {
  if (TakeWord("true")) return true;
  if (!TakeWord("false")) FailExpected("true or false");
  return false;
}

std::vector<int64_t> TextLexer::Integers(absl::string_view open,
                                         absl::string_view close) {
  std::vector<int64_t> values;
  List(open, close, [&] { values.push_back(Integer()); });
  return values;
}

size_t TextLexer::EndOfString(size_t start) {
  const char quote = text_[start];
  for (size_t i = start + 1; i < text_.size(); ++i) {
    if (text_[i] == '\\') {
      ++i;
    } else if (text_[i] == quote) {
      return i + 1;
    }
  }
  FailAt(start, "the string has no end");
  return text_.size();
}

size_t TextLexer::EndOfBrackets(size_t start) {
  const char opening = text_[start];
  const char closing = ClosingOf(opening);
  int64_t depth = 0;
  for (size_t i = start; i < text_.size();) {
    if (text_[i] == '"') {
      i = EndOfString(i);
      continue;
    }
    if (text_[i] == opening) ++depth;
    if (text_[i] == closing) --depth;
    ++i;
    if (depth == 0) return i;
  }
  FailAt(start, absl::StrCat("'", text_.substr(start, 1), "' is not closed"));
  return text_.size();
}

std::string TextLexer::Quoted() {
  if (Next() != '"' && Next() != '\'') {
    FailExpected("a string in quotes");
    return "";
  }
  const size_t start = position_;
  const size_t end = EndOfString(start);
  if (!ok()) return "";
  position_ = end;
  std::string value;
  std::string error;
  if (!absl::CUnescape(text_.substr(start + 1, end - start - 2), &value,
                       &error)) {
    FailAt(start,
           absl::StrCat("the string is not valid: ", absl::CHexEscape(error)));
  }
  return value;
}

std::string TextLexer::StringOrDict() {
  if (Next() != '{') return Quoted();
  const size_t start = position_;
  const size_t end = EndOfBrackets(start);
  if (!ok()) return "";
  position_ = end;
  return std::string(text_.substr(start, end - start));
}

void TextLexer::SkipValue() {
  const char next = Next();
  if (next == '"' || next == '\'') {
    position_ = EndOfString(position_);
  } else if (ClosingOf(next) != '\0') {
    position_ = EndOfBrackets(position_);
  } else if (IsNumberCharacter(next)) {
    while (position_ < text_.size() && IsNumberCharacter(text_[position_])) {
      ++position_;
    }
  } else {
    FailExpected("a value");
  }
}

}  // namespace meshwright::internal
