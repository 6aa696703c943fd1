// What is known of scalars that are constants.
#ifndef MESHWRIGHT_RULES_SCALAR_CONSTANT_H_
#define MESHWRIGHT_RULES_SCALAR_CONSTANT_H_

#include "meshwright/hlo/instruction.h"
#include "meshwright/mesh/sharding.h"

namespace meshwright {

// A constant zero (not -0).
bool IsZero(const Instruction* scalar);

// A constant that changes nothing when combined: 0 for kSum (also -0), the
// lowest value for kMax.
bool IsIdentity(const Instruction* scalar, Reduction reduction);

}  // namespace meshwright

#endif  // MESHWRIGHT_RULES_SCALAR_CONSTANT_H_
