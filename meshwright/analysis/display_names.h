// Names of instructions that the author of the program recognises.
//
//   op_name jit(step)/transpose(jvp(blocks/3))/attn/qkv/dot_general
//   shown   blocks/3/attn/qkv/dot_general (backward)
//
// The scopes of the user's program and the operation, without the wrappers that
// JAX adds. In a program without named scopes, an operation on a parameter is
// named after that: dot_general(state/params/blocks/3/qkv/w). Other
// instructions have only their HLO name.
#ifndef MESHWRIGHT_ANALYSIS_DISPLAY_NAMES_H_
#define MESHWRIGHT_ANALYSIS_DISPLAY_NAMES_H_

#include <string>

#include "absl/container/flat_hash_map.h"
#include "meshwright/analysis/roles.h"
#include "meshwright/hlo/module.h"

namespace meshwright {

// `module` must outlive it.
class DisplayNames {
 public:
  DisplayNames(const Module& module, const ModuleRoles& roles);

  // Not unique. Requires: the instruction is of the module.
  std::string Of(const Instruction& instruction) const;
  // The same with the HLO name if it differs: "blocks/3/attn/dot_general
  // [dot_general.113]".
  std::string WithHloName(const Instruction& instruction) const;

 private:
  struct Parameter {
    std::string name;
    bool is_state = false;
  };
  // The parameter whose elements a value consists of, possibly rearranged; null
  // if there is none.
  const Parameter* Behind(const Instruction* value) const;

  absl::flat_hash_map<const Instruction*, Parameter> parameters_;
  // The argument of a parameter of a loop or function; null if there are
  // several callers.
  absl::flat_hash_map<const Instruction*, const Instruction*> arguments_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_ANALYSIS_DISPLAY_NAMES_H_
