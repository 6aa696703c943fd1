// A backward dataflow analysis: what the uses of a value require of it, as one
// number per array, the minimum over all uses; kNoDemand if no use requires
// anything.
//
//   h = gather(table f32[11,8], t)     // requires t < 11
//   t = select(i < 0, i + 11, i)       // so i < 11
//
// The rule says what one array instruction requires of its operands; this file
// propagates demands through tuples, calls, fusions, conditionals and loops.
#ifndef MESHWRIGHT_ANALYSIS_DEMAND_H_
#define MESHWRIGHT_ANALYSIS_DEMAND_H_

#include <cstdint>
#include <limits>
#include <vector>

#include "absl/functional/function_ref.h"
#include "meshwright/hlo/module.h"

namespace meshwright {

inline constexpr int64_t kNoDemand = std::numeric_limits<int64_t>::max();

// Adds `demand` on the array value `instruction`.
using Ask =
    absl::FunctionRef<void(const Instruction& instruction, int64_t demand)>;

class DemandRule {
 public:
  virtual ~DemandRule() = default;
  // Adds demands on (transitive) operands of `instruction`, given the `demand`
  // on its result, which may be kNoDemand. Not called for opcodes that this
  // file handles.
  virtual void Apply(const Instruction& instruction, int64_t demand,
                     Ask ask) const = 0;
};

// The demand on each entry parameter, by parameter number; kNoDemand for
// tuples. Linear time for modules as frameworks write them; bounded for all
// others, by giving up demands. Requires: `module` passed Verify.
std::vector<int64_t> ParameterDemands(const Module& module,
                                      const DemandRule& rule);

// If `instruction` only moves or selects elements of its operands, adds the
// same demand on those; otherwise returns false.
bool AskOfMoved(const Instruction& instruction, int64_t demand, Ask ask);

// The instruction whose value `instruction` has, through at most 100
// broadcasts and operations that keep elements: reshapes, converts, ...
const Instruction& Source(const Instruction& instruction);

}  // namespace meshwright

#endif  // MESHWRIGHT_ANALYSIS_DEMAND_H_
