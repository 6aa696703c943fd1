// Fewer, larger collectives: all-reduces that do not wait for each other and go
// between the same devices become one.
#ifndef MESHWRIGHT_RULES_COMBINE_H_
#define MESHWRIGHT_RULES_COMBINE_H_

#include <cstdint>

#include "meshwright/rules/program.h"

namespace meshwright {

// No combined one moves more than `max_bytes` (unless a single one does).
// Requires: nothing dead, so after Simplify.
void CombineAllReduces(LocalProgram& program, int64_t max_bytes);

}  // namespace meshwright

#endif  // MESHWRIGHT_RULES_COMBINE_H_
