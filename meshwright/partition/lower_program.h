// Emits the per-device program of a graph whose every op has a strategy.
#ifndef MESHWRIGHT_PARTITION_LOWER_PROGRAM_H_
#define MESHWRIGHT_PARTITION_LOWER_PROGRAM_H_

#include "meshwright/graph/flat_graph.h"
#include "meshwright/hlo/module.h"
#include "meshwright/partition/assignment.h"
#include "meshwright/program/program.h"
#include "meshwright/reshard/reshard.h"

namespace meshwright {

// Fills `program` with the local form of `source`: same parameters and results
// in the same order, in the shardings that their ops' strategies say. Values
// that several users want alike are resharded once. Call Module::Finish after.
// Requires: `graph` is Flatten(source), every strategy is valid for its rule.
void LowerProgram(const Module& source, const FlatGraph& graph,
                  const Assignment& assignment, Resharder& resharder,
                  LocalProgram& program);

}  // namespace meshwright

#endif  // MESHWRIGHT_PARTITION_LOWER_PROGRAM_H_
