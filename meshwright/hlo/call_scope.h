// What instructions of a called computation are named where the call was.
//
// JAX writes a function that is called several times once. Newer versions name
// its instructions from the function on, older ones from the step on, by the
// first of its calls:
//
//             newer                     older
//   call      jit(step)/mlp_2/jit(silu)  jit(step)/mlp_2/pjit
//   in it     neg                        jit(step)/mlp_0/jit(silu)/neg
//
// A copy's name is jit(step)/mlp_2/jit(silu)/neg either way.
// Slashes in parentheses do not end a scope: jvp(layers/0) is one.
#ifndef MESHWRIGHT_HLO_CALL_SCOPE_H_
#define MESHWRIGHT_HLO_CALL_SCOPE_H_

#include <string>

#include "absl/strings/string_view.h"
#include "meshwright/hlo/computation.h"
#include "meshwright/hlo/instruction.h"

namespace meshwright {

class CallScope {
 public:
  // `call_name` is the call's op_name where it stands now, empty if it has
  // none: then names stay as they are.
  CallScope(std::string call_name, const Computation& callee);

  // The op_name that a copy of an instruction named `own` gets.
  std::string NameOf(absl::string_view own) const;

  // The metadata of a copy; what it lacks is the call's.
  Metadata MetadataOf(const Metadata& own, const Metadata& call) const;

 private:
  std::string call_;
  bool from_step_ = false;  // The callee's names begin where the call's does.
  std::string first_;       // The scope of the first call, with its slash.
  std::string here_;        // The scope of this call, with its slash.
};

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_CALL_SCOPE_H_
