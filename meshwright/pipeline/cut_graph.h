// What depends on what in a computation that is to be cut into programs.
//
// Some instructions are not worth sending from one program to another; they are
// *copied* into each program that needs them, and users are taken to depend on
// what the copies depend on:
//
//   mask  = compare(iota, iota)     from nothing but constants: copied
//   wide  = broadcast(mean)         larger than what it is made of: copied
//   t     = tuple(a, b)             no value of its own: copied
//   half  = convert(weight)         as cheap to make again as to keep: copied,
//                                   where weights are told apart
//
// Elements of what a loop returns stay with the loop.
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
  std::vector<bool> copied;  // Parameters are not.
  // Made by cheap ops of nothing but constants, scalar and fixed parameters.
  std::vector<bool> trivial;
  // The instruction that computes it: itself, but for elements of a tuple.
  std::vector<int32_t> owner;
  // Of instructions that own themselves: the values needed, each once. They
  // are parameters, or neither copied nor tuples.
  std::vector<std::vector<const Instruction*>> sources;

  // What has a place in one program: live, computed, not copied.
  bool IsNode(int32_t id) const {
    return live[id] && !copied[id] && !parameter[id] && owner[id] == id;
  }
};

// `is_fixed`, by parameter number: every run of the programs gets the same
// value, so that what is made of such ones alone by cheap ops is copied.
// Requires: no calls, parameters are arrays.
CutGraph MakeCutGraph(const Computation& computation,
                      const std::vector<bool>& is_fixed = {});

// The values behind `value`: itself, or what it is copied from. Each once.
std::vector<const Instruction*> SourcesOf(const CutGraph& graph,
                                          const Instruction& value);

}  // namespace meshwright

#endif  // MESHWRIGHT_PIPELINE_CUT_GRAPH_H_
