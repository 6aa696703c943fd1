#include "meshwright/hlo/op_name.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace meshwright {
namespace {

// Components that jax puts between scopes, which no user wrote.
constexpr std::array<absl::string_view, 13> kNoScopes = {
    "while",
    "body",
    "closed_call",
    "core_call",
    "checkpoint",
    "remat",
    "remat2",
    "rematted_computation",
    "pjit",
    "jit",
    "custom_jvp_call",
    "custom_vjp_call",
    "custom_vjp_call_jaxpr"};

// Transformations whose argument is the name of a scope.
constexpr std::array<absl::string_view, 8> kTransforms = {
    "jvp",   "vmap",       "vjp",  "linearize",
    "remat", "checkpoint", "pmap", "shard_map"};

template <size_t kSize>
bool IsOneOf(const std::array<absl::string_view, kSize>& words,
             absl::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// Splits at slashes that are not in parentheses or brackets.
std::vector<absl::string_view> SplitPath(absl::string_view path) {
  std::vector<absl::string_view> parts;
  int depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i <= path.size(); ++i) {
    const char c = i < path.size() ? path[i] : '/';
    if (c == '(' || c == '[') ++depth;
    if (c == ')' || c == ']') --depth;
    if (c != '/' || (depth > 0 && i < path.size())) continue;
    if (i > begin) parts.push_back(path.substr(begin, i - begin));
    begin = i + 1;
  }
  return parts;
}

// "jvp" and "blocks/0" of "jvp(blocks/0)"; false for anything else.
bool Unwrap(absl::string_view part, absl::string_view& function,
            absl::string_view& argument) {
  const size_t open = part.find('(');
  if (open == absl::string_view::npos || open == 0 ||
      !absl::EndsWith(part, ")")) {
    return false;
  }
  function = part.substr(0, open);
  argument = part.substr(open + 1, part.size() - open - 2);
  return true;
}

class Parser {
 public:
  OpName Parse(absl::string_view op_name) {
    Add(op_name, /*outermost=*/true);
    OpName name;
    name.is_backward = is_backward_;
    name.is_recomputed = is_recomputed_;
    if (words_.empty()) return name;
    name.op = std::move(words_.back());
    words_.pop_back();
    for (std::string& word : words_) {
      if (IsOneOf(kNoScopes, word)) continue;
      // The scope of a function that jax traces again occurs twice.
      const bool is_number = std::all_of(word.begin(), word.end(), [](char c) {
        return absl::ascii_isdigit(static_cast<unsigned char>(c));
      });
      if (!name.scopes.empty() && name.scopes.back() == word && !is_number) {
        continue;
      }
      name.scopes.push_back(std::move(word));
    }
    return name;
  }

 private:
  void Add(absl::string_view path, bool outermost) {
    bool is_first = outermost;
    for (const absl::string_view part : SplitPath(path)) {
      AddPart(part, std::exchange(is_first, false));
    }
  }

  void AddPart(absl::string_view part, bool is_first) {
    absl::string_view function;
    absl::string_view argument;
    if (part == "rematted_computation") is_recomputed_ = true;
    if (!Unwrap(part, function, argument)) {
      words_.emplace_back(part);
    } else if (function == "transpose") {
      is_backward_ = true;
      Add(argument, /*outermost=*/false);
    } else if (IsOneOf(kTransforms, function)) {
      Add(argument, /*outermost=*/false);
    } else if (function == "jit" || function == "pjit") {
      // The step itself, or the module's only function.
      if (!is_first && argument != "main") Add(argument, /*outermost=*/false);
    } else {
      words_.emplace_back(part);
    }
  }

  std::vector<std::string> words_;
  bool is_backward_ = false;
  bool is_recomputed_ = false;
};

}  // namespace

std::string OpName::Remark() const {
  return absl::StrCat(is_recomputed ? " (recomputed)"
                      : is_backward ? " (backward)"
                                    : "");
}

std::string OpName::ToString() const {
  return absl::StrCat(absl::StrJoin(scopes, "/"), scopes.empty() ? "" : "/", op,
                      Remark());
}

OpName ParseOpName(absl::string_view op_name) {
  return Parser().Parse(op_name);
}

}  // namespace meshwright
