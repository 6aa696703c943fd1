// Floating-point operations of custom calls, as the user gives them: nobody
// else knows what a kernel computes.
//
//   custom-call(q, k, v), frontend_attributes={mw.flops="8.6e9"}
#ifndef MESHWRIGHT_RULES_RECORDED_FLOPS_H_
#define MESHWRIGHT_RULES_RECORDED_FLOPS_H_

#include <optional>
#include <string>

#include "meshwright/rules/lowering.h"

namespace meshwright {

// The frontend attribute with a custom call's operations, a number.
inline constexpr char kFlopsAttribute[] = "mw.flops";

// nullopt for another instruction, or if the attribute is not a number of
// operations.
std::optional<double> RecordedFlops(const Instruction& instruction);

// Why the attribute is not a number of operations; empty if there is none.
std::string WrongFlops(const Instruction& instruction);

// Makes what is recorded in `local`, a copy of `op`'s instruction, that of one
// device: the share that it has of each factor.
void ScaleRecordedFlops(const LocalOp& op, const Mesh& mesh,
                        Instruction& local);

}  // namespace meshwright

#endif  // MESHWRIGHT_RULES_RECORDED_FLOPS_H_
