#include "meshwright/hlo/print_module.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "meshwright/hlo/print_attributes.h"
#include "meshwright/hlo/print_dimension_numbers.h"
#include "meshwright/hlo/print_literal.h"
#include "meshwright/hlo/print_names.h"

namespace meshwright {
namespace {

using internal::AppendName;

// "(0, {1}": the start of an alias's or donor's parameter.
void AppendParameterPath(int64_t number, const std::vector<int64_t>& index,
                         std::string* out) {
  absl::StrAppend(out, "(", number, ", ");
  internal::AppendList(index, out);
}

void AppendAliases(const std::vector<Alias>& aliases, std::string* out) {
  if (aliases.empty()) return;
  absl::StrAppend(out, ", input_output_alias={ ");
  for (size_t i = 0; i < aliases.size(); ++i) {
    if (i > 0) absl::StrAppend(out, ", ");
    internal::AppendList(aliases[i].output_index, out);
    absl::StrAppend(out, ": ");
    AppendParameterPath(aliases[i].parameter_number, aliases[i].parameter_index,
                        out);
    // XLA reads an undefined kind as must-alias.
    absl::StrAppend(out, aliases[i].kind == Alias::Kind::kMay
                             ? ", may-alias)"
                             : ", must-alias)");
  }
  absl::StrAppend(out, " }");
}

void AppendBufferDonors(const std::vector<BufferDonor>& donors,
                        std::string* out) {
  if (donors.empty()) return;
  absl::StrAppend(out, ", buffer_donor={ ");
  for (size_t i = 0; i < donors.size(); ++i) {
    if (i > 0) absl::StrAppend(out, ", ");
    AppendParameterPath(donors[i].parameter_number, donors[i].parameter_index,
                        out);
    absl::StrAppend(out, ")");
  }
  absl::StrAppend(out, " }");
}

// The entry's own shapes if the module states none; nullopt if a parameter or
// the root is missing.
std::optional<ProgramShape> EntryLayout(const Module& module) {
  if (module.entry_layout.has_value()) return module.entry_layout;
  const Computation* entry = module.entry();
  if (entry == nullptr || entry->root() == nullptr ||
      std::ranges::count(entry->Parameters(), nullptr) > 0) {
    return std::nullopt;
  }
  return ProgramShapeOf(*entry);
}

void AppendEntryLayout(const Module& module, std::string* out) {
  const std::optional<ProgramShape> layout = EntryLayout(module);
  if (!layout.has_value()) return;
  absl::StrAppend(out, ", entry_computation_layout={(");
  for (size_t i = 0; i < layout->parameters.size(); ++i) {
    if (i > 0) absl::StrAppend(out, ", ");
    absl::StrAppend(out, layout->parameters[i].ToString(/*with_layout=*/true));
  }
  absl::StrAppend(out, ")->", layout->result.ToString(/*with_layout=*/true),
                  "}");
}

void AppendOperands(const Instruction& instruction, const PrintOptions& options,
                    std::string* out) {
  const Attributes& attributes = *instruction.attributes;
  if (instruction.opcode == Opcode::kParameter) {
    absl::StrAppend(out, attributes.parameter_number);
    return;
  }
  if (instruction.opcode == Opcode::kConstant) {
    if (attributes.literal == nullptr) {
      absl::StrAppend(out, "{...}");
    } else {
      internal::AppendLiteral(*attributes.literal, options.large_constants,
                              out);
    }
    return;
  }
  for (size_t i = 0; i < instruction.operands.size(); ++i) {
    if (i > 0) absl::StrAppend(out, ", ");
    AppendName(instruction.operands[i]->name, out);
  }
}

void AppendInstruction(const Instruction& instruction,
                       const PrintOptions& options, std::string* out) {
  AppendName(instruction.name, out);
  absl::StrAppend(out, " = ", instruction.shape.ToString(/*with_layout=*/true),
                  " ");
  internal::AppendWord(instruction.opcode_name(), out);
  absl::StrAppend(out, "(");
  AppendOperands(instruction, options, out);
  absl::StrAppend(out, ")");
  internal::AppendAttributes(instruction, options, out);
}

void AppendComputation(const Computation& computation,
                       const PrintOptions& options, std::string* out) {
  AppendName(computation.name(), out);
  absl::StrAppend(out, " {\n");
  for (const auto& instruction : computation.instructions()) {
    const bool is_root = instruction.get() == computation.root();
    absl::StrAppend(out, is_root ? "  ROOT " : "  ");
    AppendInstruction(*instruction, options, out);
    absl::StrAppend(out, "\n");
  }
  absl::StrAppend(out, "}");
  const std::string& thread = computation.execution_thread;
  if (!thread.empty() && thread != "main") {
    absl::StrAppend(out, ", execution_thread=");
    internal::AppendQuoted(thread, out);
  }
  absl::StrAppend(out, "\n");
}

}  // namespace

std::string ToString(const Module& module, const PrintOptions& options) {
  std::string text = "HloModule ";
  AppendName(module.name(), &text);
  if (module.is_scheduled) absl::StrAppend(&text, ", is_scheduled=true");
  AppendAliases(module.aliases, &text);
  AppendBufferDonors(module.buffer_donors, &text);
  AppendEntryLayout(module, &text);
  if (!module.frontend_attributes.empty()) {
    absl::StrAppend(&text, ", frontend_attributes=");
    internal::AppendFrontendAttributes(module.frontend_attributes, &text);
  }
  absl::StrAppend(&text, "\n");
  for (const auto& computation : module.computations()) {
    absl::StrAppend(&text,
                    computation.get() == module.entry() ? "\nENTRY " : "\n");
    AppendComputation(*computation, options, &text);
  }
  return text;
}

std::string ToString(const Computation& computation,
                     const PrintOptions& options) {
  std::string text;
  AppendComputation(computation, options, &text);
  return text;
}

std::string ToString(const Instruction& instruction,
                     const PrintOptions& options) {
  std::string text;
  AppendInstruction(instruction, options, &text);
  return text;
}

}  // namespace meshwright
