// What all rematerialisation has in common: which instructions may be
// rematerialised, which are too expensive for it, and the names of copies.
#ifndef MESHWRIGHT_REMAT_REMATERIALIZABLE_H_
#define MESHWRIGHT_REMAT_REMATERIALIZABLE_H_

#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "meshwright/analysis/flops.h"
#include "meshwright/hlo/module.h"

namespace meshwright {

// Whether an instruction gives the same result when it runs again, and can be
// copied on its own: not stateful random numbers, loops, collectives.
bool IsRematerializable(const Instruction& instruction);

// As IsRematerializable, but also loops and branches of rematerialisable
// instructions, and barriers.
bool IsRematerializableWhole(const Instruction& instruction);

// How many elements all arrays of a tuple have, or one array.
double ElementsOf(const Shape& shape);

// A contraction (or a kernel with known operations) that takes longer than
// storing its results and reading them back, or a loop that contains one.
bool IsExpensiveToRematerialize(const Instruction& instruction,
                                const ModuleWork& work);

// Generates names that a module does not have yet.
class RematNames {
 public:
  explicit RematNames(const Module& module);

  std::string NewName(const std::string& like);

 private:
  absl::flat_hash_set<std::string> names_;
};

// Adds a copy of `like` with other operands; does not change the root.
Instruction* AddCopy(Computation& computation, const Instruction& like,
                     std::vector<Instruction*> operands, RematNames& names);

}  // namespace meshwright

#endif  // MESHWRIGHT_REMAT_REMATERIALIZABLE_H_
