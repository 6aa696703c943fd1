#include "meshwright/hlo/print_names.h"

#include <algorithm>
#include <array>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "meshwright/base/element_type.h"

namespace meshwright::internal {
namespace {

// Words of HLO text that a bare name must not be.
constexpr std::array<absl::string_view, 19> kKeywords = {
    "true",          "false",       "inf",
    "nan",           "HloModule",   "ENTRY",
    "ROOT",          "maximal",     "replicated",
    "manual",        "unknown",     "unreduced",
    "shard_as",      "shard_like",  "last_tile_dim_replicate",
    "FileNames",     "StackFrames", "FileLocations",
    "FunctionNames",
};

bool IsNameCharacter(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' ||
         c == '.' || c == '-';
}

bool IsNameStart(char c) {
  return absl::ascii_isalpha(static_cast<unsigned char>(c)) || c == '_';
}

bool IsKeyword(absl::string_view name) {
  // Most names end in ".7"; no keyword has a dot.
  if (name.find('.') != absl::string_view::npos) return false;
  return std::ranges::find(kKeywords, name) != kKeywords.end() ||
         ParseElementType(name).has_value();
}

// The end of the string literal that starts at `position`, or npos.
size_t SkipString(absl::string_view text, size_t position) {
  for (size_t i = position + 1; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == '"') {
      return i + 1;
    }
  }
  return absl::string_view::npos;
}

// True for "{...}" on one line whose last brace closes the first; braces in
// string literals do not count.
bool IsDict(absl::string_view text) {
  if (text.empty() || text.front() != '{') return false;
  int64_t depth = 0;
  for (size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (!absl::ascii_isprint(static_cast<unsigned char>(c))) return false;
    if (c == '"') {
      i = SkipString(text, i);
      if (i == absl::string_view::npos) return false;
      continue;
    }
    if (c == '{') ++depth;
    if (c == '}') --depth;
    ++i;
    if (depth == 0) return i == text.size();
  }
  return false;
}

bool IsPlain(absl::string_view name) {
  return !name.empty() && IsNameStart(name.front()) &&
         std::ranges::all_of(name, IsNameCharacter);
}

}  // namespace

void AppendWord(absl::string_view word, std::string* out) {
  if (IsPlain(word)) {
    absl::StrAppend(out, word);
    return;
  }
  if (word.empty() || !IsNameStart(word.front())) absl::StrAppend(out, "_");
  for (const char c : word) out->push_back(IsNameCharacter(c) ? c : '_');
}

void AppendName(absl::string_view name, std::string* out) {
  if (IsKeyword(name)) absl::StrAppend(out, "%");
  AppendWord(name, out);
}

void AppendQuoted(absl::string_view text, std::string* out) {
  absl::StrAppend(out, "\"", absl::CEscape(text), "\"");
}

void AppendStringOrDict(absl::string_view text, std::string* out) {
  if (IsDict(text)) {
    absl::StrAppend(out, text);
  } else {
    AppendQuoted(text, out);
  }
}

void AppendFrontendAttributes(const FrontendAttributes& attributes,
                              std::string* out) {
  absl::StrAppend(out, "{");
  bool first = true;
  for (const auto& [key, value] : attributes) {
    if (!first) absl::StrAppend(out, ",");
    first = false;
    absl::StrAppend(out, absl::CEscape(key), "=");
    AppendStringOrDict(value, out);
  }
  absl::StrAppend(out, "}");
}

std::string EnumName(absl::Span<const absl::string_view> names, int64_t value) {
  if (value < 0 || value >= std::ssize(names)) return absl::StrCat(value);
  return std::string(names[value]);
}

}  // namespace meshwright::internal
