// Test support: a random strategy for every op of a step.
#ifndef MESHWRIGHT_TESTS_PARTITION_RANDOM_ASSIGNMENT_H_
#define MESHWRIGHT_TESTS_PARTITION_RANDOM_ASSIGNMENT_H_

#include <cstdint>

#include "meshwright/graph/flat_graph.h"
#include "meshwright/hlo/module.h"
#include "meshwright/mesh/mesh.h"
#include "meshwright/partition/assignment.h"

namespace meshwright {

// Each op follows one of its operands, or splits random factors over random
// axes (uneven ones included), passing partial values on or not. State comes
// out as it goes in. The same for the same seed.
Assignment RandomAssignment(const Module& module, const FlatGraph& graph,
                            const Mesh& mesh, uint64_t seed);

}  // namespace meshwright

#endif  // MESHWRIGHT_TESTS_PARTITION_RANDOM_ASSIGNMENT_H_
