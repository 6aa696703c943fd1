// What code that is computed again has in common, wherever it is: what may be,
// what is too dear, and how the copies are called.
#ifndef MESHWRIGHT_REMAT_AGAIN_H_
#define MESHWRIGHT_REMAT_AGAIN_H_

#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "meshwright/analysis/flops.h"
#include "meshwright/hlo/module.h"

namespace meshwright {

// Whether an instruction gives the same when it runs again, and can be copied
// by itself: not stateful random numbers, loops, collectives.
bool MayRunAgain(const Instruction& instruction);

// The same, but loops and branches of what may run again may, and barriers.
bool MayRunAgainWhole(const Instruction& instruction);

// A contraction that takes longer than storing its result and reading it back,
// or a loop with such a one.
bool IsDear(const Instruction& instruction, const ModuleWork& work);

// Names that a module does not have yet.
class AgainNames {
 public:
  explicit AgainNames(const Module& module);

  std::string NewName(const std::string& like);

 private:
  absl::flat_hash_set<std::string> names_;
};

// Adds a copy of `like` with other operands; the root stays what it is.
Instruction* AddCopy(Computation& computation, const Instruction& like,
                     std::vector<Instruction*> operands, AgainNames& names);

}  // namespace meshwright

#endif  // MESHWRIGHT_REMAT_AGAIN_H_
