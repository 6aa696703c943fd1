// The op_name metadata of inlined instructions.
//
// JAX lowers a function that is called several times once. Newer versions name
// its instructions relative to the function, older ones relative to the step,
// by its first call:
//
//             newer                     older
//   call      jit(step)/mlp_2/jit(silu)  jit(step)/mlp_2/pjit
//   in it     neg                        jit(step)/mlp_0/jit(silu)/neg
//
// The copy's name is jit(step)/mlp_2/jit(silu)/neg in both cases. Slashes
// within parentheses do not end a scope: jvp(layers/0) is one.
#ifndef MESHWRIGHT_HLO_CALL_SCOPE_H_
#define MESHWRIGHT_HLO_CALL_SCOPE_H_

#include <string>

#include "absl/strings/string_view.h"
#include "meshwright/hlo/computation.h"
#include "meshwright/hlo/instruction.h"

namespace meshwright {

class CallScope {
 public:
  // `call_name` is the call's own op_name; if it is empty, names do not change.
  CallScope(std::string call_name, const Computation& callee);

  // The op_name that a copy of an instruction named `own` gets.
  std::string NameOf(absl::string_view own) const;

  // The metadata of a copy; missing fields are taken from the call.
  Metadata MetadataOf(const Metadata& own, const Metadata& call) const;

 private:
  std::string call_;
  // Whether the callee's names are relative to the step.
  bool from_step_ = false;
  std::string first_;  // The scope of the first call, with its slash.
  std::string here_;   // The scope of this call, with its slash.
};

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_CALL_SCOPE_H_
