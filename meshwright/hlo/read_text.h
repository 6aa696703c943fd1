// HLO text to a Module: what XLA prints and dumps, and what print_module.h
// prints.
//
//   HloModule jit_f, entry_computation_layout={(f32[4]{0})->f32[4]{0}}
//
//   ENTRY main.3 {
//     x.1 = f32[4]{0} parameter(0)
//     ROOT add.2 = f32[4]{0} add(x.1, x.1), metadata={op_name="jit(f)/add"}
//   }
#ifndef MESHWRIGHT_HLO_READ_TEXT_H_
#define MESHWRIGHT_HLO_READ_TEXT_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "meshwright/hlo/module.h"

namespace meshwright {

// Whether it begins like a module in HLO text, after blanks and comments.
bool IsModuleText(absl::string_view bytes);

// kInvalidArgument in one line, "line 12, column 8: 'dott' is no opcode".
// Requires computations to come before their callers; without ENTRY the last
// one is the entry. As with ReadModule, the result is structurally sound, but
// its shapes are not checked: call Verify().
absl::StatusOr<Module> ReadModuleText(absl::string_view text);

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_READ_TEXT_H_
