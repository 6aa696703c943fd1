// Emits the per-device program of a graph in which every op has a strategy.
#ifndef MESHWRIGHT_PARTITION_LOWER_PROGRAM_H_
#define MESHWRIGHT_PARTITION_LOWER_PROGRAM_H_

#include "meshwright/graph/flat_graph.h"
#include "meshwright/hlo/module.h"
#include "meshwright/partition/assignment.h"
#include "meshwright/program/program.h"
#include "meshwright/reshard/reshard.h"

namespace meshwright {

// Fills `program` with the local form of `source`: the same parameters and
// results in the same order, in the shardings of their ops' strategies. A value
// that several users need in the same sharding is resharded once. Call
// Module::Finish afterwards. Requires: `graph` is Flatten(source), every
// strategy is valid for its rule.
void LowerProgram(const Module& source, const FlatGraph& graph,
                  const Assignment& assignment, Resharder& resharder,
                  LocalProgram& program);

}  // namespace meshwright

#endif  // MESHWRIGHT_PARTITION_LOWER_PROGRAM_H_
