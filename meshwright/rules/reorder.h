// Puts a rewritten computation in order again.
#ifndef MESHWRIGHT_RULES_REORDER_H_
#define MESHWRIGHT_RULES_REORDER_H_

#include "meshwright/hlo/computation.h"

namespace meshwright {

// Operands before their users, otherwise in the present order; what neither
// the root nor a parameter needs is dropped.
void Reorder(Computation& computation);

}  // namespace meshwright

#endif  // MESHWRIGHT_RULES_REORDER_H_
