// The dependence graph of a computation that is to be cut into programs.
//
// Some instructions are not worth sending from one program to another. They are
// *copied* into each program that needs them, and their users are taken to
// depend on what the copies depend on:
//
//   mask  = compare(iota, iota)     depends on constants only: copied
//   wide  = broadcast(mean)         larger than its operand: copied
//   t     = tuple(a, b)             has no value of its own: copied
//   half  = convert(weight)         as cheap to recompute as to keep: copied if
//                                   weights are known (is_fixed)
//
// Elements of a loop's result stay with the loop.
#ifndef MESHWRIGHT_PIPELINE_CUT_GRAPH_H_
#define MESHWRIGHT_PIPELINE_CUT_GRAPH_H_

#include <cstdint>
#include <vector>

#include "meshwright/hlo/computation.h"

namespace meshwright {

struct CutGraph {
  // All by instruction id.
  std::vector<bool> live;  // The root depends on it.
  std::vector<bool> parameter;
  std::vector<bool> copied;  // Never true of parameters.
  // Computed by cheap ops from constants, scalar and fixed parameters only.
  std::vector<bool> trivial;
  // The instruction that computes it: itself, except for elements of a tuple.
  std::vector<int32_t> owner;
  // For instructions that are their own owner: the values they need, each once.
  // These are parameters, or instructions that are neither copied nor tuples.
  std::vector<std::vector<const Instruction*>> sources;

  // Whether it is a node, which is placed in one program: live, computed, not
  // copied.
  bool IsNode(int32_t id) const {
    return live[id] && !copied[id] && !parameter[id] && owner[id] == id;
  }
};

// `is_fixed`, by parameter number: every run of the programs gets the same
// value, so that cheap ops of such values alone are copied. Requires: no calls;
// parameters are arrays.
CutGraph MakeCutGraph(const Computation& computation,
                      const std::vector<bool>& is_fixed = {});

// The values that `value` depends on if it is copied, each once; otherwise
// itself.
std::vector<const Instruction*> SourcesOf(const CutGraph& graph,
                                          const Instruction& value);

}  // namespace meshwright

#endif  // MESHWRIGHT_PIPELINE_CUT_GRAPH_H_
