// Test support: the collectives in an instruction's per-device form.
#ifndef MESHWRIGHT_TESTS_RULES_LOWERED_H_
#define MESHWRIGHT_TESTS_RULES_LOWERED_H_

#include <string>
#include <vector>

#include "meshwright/mesh/mesh.h"
#include "meshwright/rules/rule.h"
#include "tests/rules/one_op.h"

namespace meshwright {

// "collective-permute f32[1,2]" and so on, in order.
std::vector<std::string> Collectives(const BuiltOp& op,
                                     const Strategy& strategy,
                                     const Mesh& mesh);

}  // namespace meshwright

#endif  // MESHWRIGHT_TESTS_RULES_LOWERED_H_
