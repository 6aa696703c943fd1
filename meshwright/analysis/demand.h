// Backward analysis: what the uses of a value ask of it, as one number per
// array, the smallest asked anywhere; kNoDemand when nothing asks.
//
//   h = gather(table f32[11,8], t)     // asks t < 11
//   t = select(i < 0, i + 11, i)       // so i < 11
//
// The rule says what one array instruction asks of its operands; this file
// carries demands through tuples, calls, fusions, conditionals and loops.
#ifndef MESHWRIGHT_ANALYSIS_DEMAND_H_
#define MESHWRIGHT_ANALYSIS_DEMAND_H_

#include <cstdint>
#include <limits>
#include <vector>

#include "absl/functional/function_ref.h"
#include "meshwright/hlo/module.h"

namespace meshwright {

inline constexpr int64_t kNoDemand = std::numeric_limits<int64_t>::max();

// Asks `demand` of the array value `instruction`.
using Ask =
    absl::FunctionRef<void(const Instruction& instruction, int64_t demand)>;

class DemandRule {
 public:
  virtual ~DemandRule() = default;
  // Asks of (transitive) operands of `instruction` what it needs, where
  // `demand` is asked of its result, kNoDemand included. Is not called for the
  // opcodes that this file handles.
  virtual void Apply(const Instruction& instruction, int64_t demand,
                     Ask ask) const = 0;
};

// What is asked of each entry parameter, by parameter number; kNoDemand for
// tuples. Time is linear in the module for modules that frameworks write, and
// bounded for all others by giving up demands. Requires: passed Verify.
std::vector<int64_t> ParameterDemands(const Module& module,
                                      const DemandRule& rule);

// Where `instruction` only moves or selects elements of its operands, asks the
// same of those operands; otherwise returns false.
bool AskOfMoved(const Instruction& instruction, int64_t demand, Ask ask);

// The instruction whose value `instruction` repeats, through broadcasts,
// reshapes, transposes, copies and converts; at most 100 of them.
const Instruction& Source(const Instruction& instruction);

}  // namespace meshwright

#endif  // MESHWRIGHT_ANALYSIS_DEMAND_H_
