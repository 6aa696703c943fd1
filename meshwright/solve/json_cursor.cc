#include "meshwright/solve/json_cursor.h"

#include <cmath>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "meshwright/base/status_macros.h"

namespace meshwright {
namespace {

constexpr int kMaxDepth = 200;

bool IsBlank(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

bool IsNumberCharacter(char c) {
  return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' ||
         c == 'e' || c == 'E';
}

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

void JsonCursor::Blanks() {
  while (now_ < end_ && IsBlank(*now_)) ++now_;
}

bool JsonCursor::Take(char c) {
  Blanks();
  if (now_ == end_ || *now_ != c) return false;
  ++now_;
  return true;
}

absl::Status JsonCursor::Expected(absl::string_view what) const {
  const std::string found =
      now_ == end_ ? "the text ends"
                   : absl::StrCat("found '", absl::string_view(now_, 1), "'");
  return absl::InvalidArgumentError(absl::StrCat(
      "not JSON: expected ", what, " at byte ", now_ - begin_, ", ", found));
}

absl::Status JsonCursor::Object(
    absl::FunctionRef<absl::Status(absl::string_view)> member) {
  if (!Take('{')) return Expected("'{'");
  if (++depth_ > kMaxDepth) return Expected("fewer brackets");
  if (!Take('}')) {
    do {
      MW_ASSIGN_OR_RETURN(const absl::string_view key, String());
      if (!Take(':')) return Expected("':'");
      MW_RETURN_IF_ERROR(member(key));
    } while (Take(','));
    if (!Take('}')) return Expected("',' or '}'");
  }
  --depth_;
  return absl::OkStatus();
}

absl::Status JsonCursor::Array(absl::FunctionRef<absl::Status()> element) {
  if (!Take('[')) return Expected("'['");
  if (++depth_ > kMaxDepth) return Expected("fewer brackets");
  if (!Take(']')) {
    do {
      MW_RETURN_IF_ERROR(element());
    } while (Take(','));
    if (!Take(']')) return Expected("',' or ']'");
  }
  --depth_;
  return absl::OkStatus();
}

absl::StatusOr<int64_t> JsonCursor::Integer() {
  Blanks();
  const char* const start = now_;
  const bool negative = now_ < end_ && *now_ == '-';
  if (negative) ++now_;
  if (now_ == end_ || !IsDigit(*now_)) return Expected("a number");
  int64_t value = 0;
  const char* const digits = now_;
  while (now_ < end_ && IsDigit(*now_)) value = value * 10 + (*now_++ - '0');
  const bool plain = now_ == end_ || !IsNumberCharacter(*now_);
  if (!plain || now_ - digits > 18) return FloatInteger(start);
  return negative ? -value : value;
}

absl::StatusOr<int64_t> JsonCursor::FloatInteger(const char* start) {
  now_ = start;
  while (now_ < end_ && IsNumberCharacter(*now_)) ++now_;
  const absl::string_view word(start, static_cast<size_t>(now_ - start));
  int64_t whole = 0;
  if (absl::SimpleAtoi(word, &whole)) return whole;
  double value = 0;
  if (!absl::SimpleAtod(word, &value) || std::floor(value) != value ||
      std::abs(value) > 9.2e18) {
    now_ = start;
    return absl::InvalidArgumentError(
        absl::StrCat("not a whole 64-bit number at byte ", start - begin_, ": ",
                     word.substr(0, 40)));
  }
  return static_cast<int64_t>(value);
}

bool JsonCursor::TakeNull() {
  Blanks();
  const absl::string_view rest(now_, static_cast<size_t>(end_ - now_));
  if (rest.substr(0, 4) != "null") return false;
  now_ += 4;
  return true;
}

absl::StatusOr<absl::string_view> JsonCursor::String() {
  if (!Take('"')) return Expected("'\"'");
  const char* const start = now_;
  while (now_ < end_ && *now_ != '"') now_ += *now_ == '\\' ? 2 : 1;
  if (now_ >= end_) {
    now_ = end_;
    return Expected("'\"'");
  }
  return absl::string_view(start, static_cast<size_t>(now_++ - start));
}

absl::Status JsonCursor::SkipWord() {
  for (const absl::string_view word : {"true", "false", "null"}) {
    const absl::string_view rest(now_, static_cast<size_t>(end_ - now_));
    if (rest.substr(0, word.size()) != word) continue;
    now_ += word.size();
    return absl::OkStatus();
  }
  if (now_ == end_ || !IsNumberCharacter(*now_)) return Expected("a value");
  while (now_ < end_ && IsNumberCharacter(*now_)) ++now_;
  return absl::OkStatus();
}

absl::Status JsonCursor::Skip() {
  Blanks();
  if (now_ == end_) return Expected("a value");
  if (*now_ == '{') {
    return Object([&](absl::string_view) { return Skip(); });
  }
  if (*now_ == '[') {
    return Array([&] { return Skip(); });
  }
  return *now_ == '"' ? String().status() : SkipWord();
}

absl::Status JsonCursor::End() {
  Blanks();
  return now_ == end_ ? absl::OkStatus() : Expected("the end");
}

}  // namespace meshwright
