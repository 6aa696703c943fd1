#include "meshwright/hlo/text_header.h"

#include <algorithm>
#include <array>
#include <string>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "meshwright/hlo/text_metadata.h"
#include "meshwright/hlo/text_shape.h"

namespace meshwright::internal {
namespace {

// Compilation options, which are given anew when the program is compiled.
constexpr std::array<absl::string_view, 7> kOfCompilation = {
    "replica_count",
    "num_partitions",
    "alias_passthrough_params",
    "allow_spmd_sharding_propagation_to_parameters",
    "allow_spmd_sharding_propagation_to_output",
    "origin_recovery_table",
    "debug_attributes"};

// "{ {0}: (1, {}, may-alias) }".
void ReadAliases(TextLexer& lexer, Module& module) {
  lexer.List("{", "}", [&] {
    Alias& alias = module.aliases.emplace_back();
    alias.output_index = lexer.Integers();
    lexer.Expect(":");
    lexer.Expect("(");
    alias.parameter_number = lexer.Integer();
    lexer.Expect(",");
    alias.parameter_index = lexer.Integers();
    if (lexer.Take(",")) {
      if (lexer.TakeWord("must-alias")) {
        alias.kind = Alias::Kind::kMust;
      } else if (!lexer.TakeWord("may-alias")) {
        lexer.FailExpected("may-alias or must-alias");
      }
    }
    lexer.Expect(")");
  });
}

// "{ (1, {}) }".
void ReadBufferDonors(TextLexer& lexer, Module& module) {
  lexer.List("{", "}", [&] {
    BufferDonor& donor = module.buffer_donors.emplace_back();
    lexer.Expect("(");
    donor.parameter_number = lexer.Integer();
    lexer.Expect(",");
    donor.parameter_index = lexer.Integers();
    lexer.Expect(")");
  });
}

// "{(f32[4]{0})->f32[4]{0}}".
void ReadEntryLayout(TextLexer& lexer, Module& module) {
  ProgramShape& layout = module.entry_layout.emplace();
  lexer.Expect("{");
  lexer.List("(", ")",
             [&] { layout.parameters.push_back(ReadShapeText(lexer)); });
  lexer.Expect("->");
  layout.result = ReadShapeText(lexer);
  lexer.Expect("}");
}

void ReadField(TextLexer& lexer, absl::string_view name, size_t start,
               Module& module) {
  if (name == "is_scheduled") {
    module.is_scheduled = lexer.Flag();
  } else if (name == "input_output_alias") {
    ReadAliases(lexer, module);
  } else if (name == "buffer_donor") {
    ReadBufferDonors(lexer, module);
  } else if (name == "entry_computation_layout") {
    ReadEntryLayout(lexer, module);
  } else if (name == "frontend_attributes") {
    module.frontend_attributes = ReadFrontendAttributesText(lexer);
  } else if (std::ranges::find(kOfCompilation, name) != kOfCompilation.end()) {
    lexer.SkipValue();
  } else {
    lexer.FailAt(start,
                 absl::StrCat("'", name, "' is no attribute of a module"));
  }
}

}  // namespace

Module ReadHeader(TextLexer& lexer) {
  if (!lexer.TakeWord("HloModule")) lexer.FailExpected("'HloModule'");
  Module module{std::string(lexer.Name("the module's name"))};
  absl::flat_hash_set<absl::string_view> seen;
  while (lexer.Take(",")) {
    const size_t start = lexer.position();
    const absl::string_view name = lexer.Word("an attribute");
    if (!seen.insert(name).second) {
      lexer.FailAt(start, absl::StrCat("'", name, "' stands here twice"));
    }
    lexer.Expect("=");
    ReadField(lexer, name, start, module);
  }
  module.unknown_fields = ReadStackFrames(lexer);
  return module;
}

}  // namespace meshwright::internal
