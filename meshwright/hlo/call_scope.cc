#include "meshwright/hlo/call_scope.h"

#include <cctype>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace meshwright {
namespace {

// Where the scopes of a name end: the positions of slashes outside parentheses.
std::vector<size_t> ScopeEnds(absl::string_view name) {
  std::vector<size_t> ends;
  int depth = 0;
  for (size_t i = 0; i < name.size(); ++i) {
    if (name[i] == '(') ++depth;
    if (name[i] == ')') --depth;
    if (name[i] == '/' && depth <= 0) ends.push_back(i);
  }
  return ends;
}

// "jit(step)/" of "jit(step)/mlp/mul"; empty if there is only one scope.
absl::string_view Root(absl::string_view name) {
  const std::vector<size_t> ends = ScopeEnds(name);
  return ends.empty() ? absl::string_view() : name.substr(0, ends[0] + 1);
}

// "jit(step)/mlp/" of "jit(step)/mlp/mul".
absl::string_view Parent(absl::string_view name) {
  const std::vector<size_t> ends = ScopeEnds(name);
  return ends.empty() ? absl::string_view() : name.substr(0, ends.back() + 1);
}

// The scopes with which all names begin, including the slash.
absl::string_view CommonScope(const std::vector<absl::string_view>& names) {
  absl::string_view common = names.empty() ? "" : Parent(names[0]);
  for (const absl::string_view name : names) {
    while (!absl::StartsWith(name, common)) {
      common = Parent(absl::StripSuffix(common, "/"));
    }
  }
  return common;
}

// The name of a computation's function: "silu" of "silu_0.87".
absl::string_view FunctionName(absl::string_view computation) {
  for (const char mark : {'.', '_'}) {
    size_t end = computation.size();
    while (end > 0 && std::isdigit(computation[end - 1]) != 0) --end;
    if (end > 1 && end < computation.size() && computation[end - 1] == mark) {
      computation = computation.substr(0, end - 1);
    }
  }
  return computation;
}

// The scope of the callee's first call. Its parameters have the name of that
// call; otherwise, its instructions are in that scope and jit(FUNCTION).
absl::string_view FirstScope(const Computation& callee,
                             const std::vector<absl::string_view>& names,
                             absl::string_view root) {
  for (const Instruction* parameter : callee.Parameters()) {
    const std::string& name = parameter->metadata.op_name;
    if (absl::StartsWith(name, root)) return Parent(name);
  }
  const absl::string_view common = CommonScope(names);
  const std::string function =
      absl::StrCat("jit(", FunctionName(callee.name()), ")/");
  const size_t at = common.rfind(absl::StrCat("/", function));
  return at == absl::string_view::npos ? absl::string_view()
                                       : common.substr(0, at + 1);
}

}  // namespace

CallScope::CallScope(std::string call_name, const Computation& callee)
    : call_(std::move(call_name)) {
  const absl::string_view root = Root(call_);
  if (root.empty()) return;
  std::vector<absl::string_view> names;
  for (const auto& instruction : callee.instructions()) {
    const std::string& name = instruction->metadata.op_name;
    if (name.empty() || instruction->opcode == Opcode::kParameter) continue;
    if (!absl::StartsWith(name, root)) return;
    names.push_back(name);
  }
  if (names.empty()) return;
  from_step_ = true;
  first_ = std::string(FirstScope(callee, names, root));
  here_ = std::string(Parent(call_));
}

std::string CallScope::NameOf(absl::string_view own) const {
  if (call_.empty()) return std::string(own);
  if (own.empty()) return call_;
  if (!from_step_) return absl::StrCat(call_, "/", own);
  if (first_.empty() || !absl::StartsWith(own, first_)) return std::string(own);
  return absl::StrCat(here_, own.substr(first_.size()));
}

Metadata CallScope::MetadataOf(const Metadata& own,
                               const Metadata& call) const {
  const bool has_source =
      !own.source_file.empty() || !own.unknown_fields.empty();
  Metadata made = own;
  made.op_name = NameOf(own.op_name);
  if (!has_source) {
    made.source_file = call.source_file;
    made.source_line = call.source_line;
    made.unknown_fields = call.unknown_fields;
  }
  return made;
}

}  // namespace meshwright
