// What to call an instruction so that the author of the program knows it.
//
//   op_name jit(step)/transpose(jvp(blocks/3))/attn/qkv/dot_general
//   shown   blocks/3/attn/qkv/dot_general (backward)
//
// The scopes of the user's program and the operation, without what jax wraps
// around them. Where a program names no scopes, an operation on a parameter is
// called by it: dot_general(state/params/blocks/3/qkv/w). Else the instruction
// has nothing but its HLO name.
#ifndef MESHWRIGHT_ANALYSIS_DISPLAY_NAMES_H_
#define MESHWRIGHT_ANALYSIS_DISPLAY_NAMES_H_

#include <string>

#include "absl/container/flat_hash_map.h"
#include "meshwright/analysis/roles.h"
#include "meshwright/hlo/module.h"

namespace meshwright {

// `module` outlives it.
class DisplayNames {
 public:
  DisplayNames(const Module& module, const ModuleRoles& roles);

  // Several instructions may have the same. Requires: it is of the module.
  std::string Of(const Instruction& instruction) const;
  // The same and the HLO name, where they differ:
  // "blocks/3/attn/dot_general [dot_general.113]".
  std::string WithHloName(const Instruction& instruction) const;

 private:
  struct Parameter {
    std::string name;
    bool is_state = false;
  };
  // The parameter whose elements a value is, as they are or rearranged; null if
  // it is none.
  const Parameter* Behind(const Instruction* value) const;

  absl::flat_hash_map<const Instruction*, Parameter> parameters_;
  // What is handed to a parameter of a loop or of a function; null where
  // several hand something to it.
  absl::flat_hash_map<const Instruction*, const Instruction*> arguments_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_ANALYSIS_DISPLAY_NAMES_H_
