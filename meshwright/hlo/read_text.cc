#include "meshwright/hlo/read_text.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "meshwright/hlo/compression.h"
#include "meshwright/hlo/text_attributes.h"
#include "meshwright/hlo/text_header.h"
#include "meshwright/hlo/text_instruction.h"
#include "meshwright/hlo/text_lexer.h"
#include "meshwright/hlo/text_shape.h"

namespace meshwright {
namespace {

using internal::ComputationsByName;
using internal::TextLexer;

// "(p: f32[4], q: s32[]) -> f32[4]": the instructions repeat it.
void SkipSignature(TextLexer& lexer) {
  lexer.List("(", ")", [&] {
    lexer.Name("a parameter");
    lexer.Expect(":");
    internal::ReadShapeText(lexer);
  });
  lexer.Expect("->");
  internal::ReadShapeText(lexer);
}

// Reads what follows the closing brace.
void ReadExecutionThread(TextLexer& lexer, Computation& computation) {
  if (!lexer.Take(",")) return;
  if (!lexer.TakeWord("execution_thread")) {
    lexer.FailExpected("'execution_thread'");
  }
  lexer.Expect("=");
  computation.execution_thread = lexer.Quoted();
}

void ReadComputation(TextLexer& lexer, ComputationsByName& computations,
                     Module& module) {
  const size_t start = lexer.position();
  const bool is_entry = lexer.TakeWord("ENTRY");
  if (is_entry && module.entry() != nullptr) {
    lexer.FailAt(start, "there is an ENTRY already");
  }
  const size_t name_start = lexer.position();
  const absl::string_view name = lexer.Name("a computation");
  Computation* computation = module.AddComputation(std::string(name));
  if (is_entry) module.set_entry(computation);
  if (lexer.NextIs("(")) SkipSignature(lexer);
  lexer.Expect("{");
  internal::InstructionReader reader(lexer, computations, module, *computation);
  do {
    reader.Read();
  } while (lexer.ok() && !lexer.Take("}"));
  reader.Finish();
  ReadExecutionThread(lexer, *computation);
  if (!computations.emplace(name, computation).second) {
    lexer.FailAt(name_start,
                 absl::StrCat("there is a computation '", name, "' already"));
  }
}

// Sets what follows from the instructions of all computations.
void SetKinds(Module& module) {
  for (const auto& computation : module.computations()) {
    for (const auto& instruction : computation->instructions()) {
      if (instruction->opcode != Opcode::kFusion) continue;
      for (Computation* called : instruction->called) called->is_fusion = true;
    }
  }
  for (const auto& computation : module.computations()) {
    computation->is_scheduled = module.is_scheduled && !computation->is_fusion;
  }
}

// XLA requires as many names as parameters.
void NameParameters(Module& module) {
  if (!module.entry_layout.has_value()) return;
  ProgramShape& layout = *module.entry_layout;
  layout.parameter_names.resize(layout.parameters.size());
  const std::vector<Instruction*> parameters = module.entry()->Parameters();
  const size_t count = std::min(parameters.size(), layout.parameters.size());
  for (size_t i = 0; i < count; ++i) {
    if (parameters[i] == nullptr) continue;
    layout.parameter_names[i] = parameters[i]->name;
  }
}

// In XLA, instructions of several computations may have the same name; ours are
// unique in the module. The entry's names are kept.
void MakeNamesUnique(Module& module) {
  absl::flat_hash_map<std::string, int64_t> uses;
  const auto rename = [&](const Computation& computation) {
    for (const auto& instruction : computation.instructions()) {
      while (uses[instruction->name]++ > 0) {
        instruction->name =
            absl::StrCat(instruction->name, ".", uses[instruction->name] - 1);
      }
    }
  };
  rename(*module.entry());
  for (const auto& computation : module.computations()) {
    if (computation.get() != module.entry()) rename(*computation);
  }
}

}  // namespace

bool IsModuleText(absl::string_view bytes) {
  TextLexer lexer(bytes);
  if (!lexer.TakeWord("HloModule")) return false;
  // The proto of a module with that name begins "\n\tHloModule\x12".
  const absl::string_view rest = bytes.substr(bytes.size() - lexer.remaining());
  return rest.empty() ||
         absl::ascii_isspace(static_cast<unsigned char>(rest[0]));
}

absl::StatusOr<Module> ReadModuleText(absl::string_view text) {
  if (std::ssize(text) > kMaxModuleBytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        text.size(), " bytes; a module has at most ", kMaxModuleBytes));
  }
  TextLexer lexer(text);
  Module module = internal::ReadHeader(lexer);
  ComputationsByName computations;
  Computation* last = nullptr;
  do {
    const size_t place = module.computations().size();
    ReadComputation(lexer, computations, module);
    last = module.computations()[place].get();
  } while (!lexer.AtEnd());
  if (!lexer.ok()) return lexer.status();
  if (module.entry() == nullptr) module.set_entry(last);
  SetKinds(module);
  NameParameters(module);
  MakeNamesUnique(module);
  // A wrapped computation of asynchronous instructions was added after its
  // caller.
  if (module.computations().size() > computations.size()) module.Finish();
  return module;
}

}  // namespace meshwright
