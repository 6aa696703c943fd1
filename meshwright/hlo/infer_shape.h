// Shape inference: the result shape implied by an instruction's operands and
// attributes.
//
//   dot(f32[8,4], f32[4,16]) contracting {1}x{0}  ->  f32[8,16]
#ifndef MESHWRIGHT_HLO_INFER_SHAPE_H_
#define MESHWRIGHT_HLO_INFER_SHAPE_H_

#include <optional>

#include "absl/status/statusor.h"
#include "meshwright/hlo/instruction.h"

namespace meshwright {

// nullopt if the instruction determines its own shape (parameter, constant,
// iota, custom-call, reshape's target and so on; those are checked for
// consistency instead) or the opcode is unknown. kInvalidArgument if operands
// or attributes do not fit the opcode. Layouts are not inferred.
absl::StatusOr<std::optional<Shape>> InferShape(const Instruction& instruction);

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_INFER_SHAPE_H_
