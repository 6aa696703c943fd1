// A module as one flat graph of operations on arrays.
//
// Calls are walked into, tuples vanish, and loops and branches turn into plain
// operations on values:
//
//   while (carry) {body}   a kCarry op per carried array, with the start value
//                          and the value after an iteration as operands; its
//                          result is what the condition, the body and the code
//                          after the loop see
//   conditional            a kEnter op per array that goes into a branch, and a
//                          kMerge op per array that comes out
//   entry                  a kParameter op per array that comes in, a kOutput
//                          op per array that leaves
//   opt-barrier (x, tie)   if only x is used of it: an op on x alone, which is
//                          to come after the tie
//
// Equal instructions on equal operands become one op.
//
// So "which sharding" is one question per op, whatever the nesting.
#ifndef MESHWRIGHT_GRAPH_FLAT_GRAPH_H_
#define MESHWRIGHT_GRAPH_FLAT_GRAPH_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/hlo/module.h"

namespace meshwright {

using ValueId = int32_t;
using OpId = int32_t;
using RegionId = int32_t;

enum class OpKind : uint8_t {
  kParameter,
  kCompute,
  kCarry,
  kEnter,
  kMerge,
  kOutput,
};

struct FlatValue {
  OpId producer = 0;
  int32_t result = 0;  // Which of the producer's.
  const Shape* shape = nullptr;
};

struct FlatOp {
  OpKind kind = OpKind::kCompute;
  // What it computes; for the other kinds, what it belongs to (the while, the
  // conditional, the parameter, the entry's root).
  const Instruction* instruction = nullptr;
  int32_t leaf = 0;  // Which array of `instruction`, for the other kinds.
  std::vector<ValueId> operands;
  ValueId first_result = 0;
  int32_t result_count = 0;
  RegionId region = 0;
  double repeats = 1;  // How often it runs per step, as far as is known.
  double entries = 1;  // Of a kCarry: how often its loop is entered.
  bool live = false;   // An output depends on it. Skip the others.
  // A value that must have been made before, though the op does not read it;
  // -1 if none is.
  ValueId after = -1;
};

// A computation in one place: the ops and nested constructs in order.
struct Region {
  struct Item {
    enum class Kind : uint8_t { kOp, kLoop, kBranch };
    Kind kind = Kind::kOp;
    int32_t index = 0;  // Of the op, loop or branch.
  };
  std::vector<Item> items;
  const Computation* computation = nullptr;
};

struct Loop {
  const Instruction* instruction = nullptr;
  std::vector<OpId> carries;  // By leaf.
  RegionId condition = 0;
  RegionId body = 0;
  ValueId go_on = 0;  // The condition's root.
  OpId end = 0;       // Its ops, carries first, come before this one.
};

struct Branch {
  const Instruction* instruction = nullptr;
  ValueId selector = 0;
  std::vector<RegionId> regions;
  std::vector<std::vector<OpId>> enters;  // By branch and leaf.
  std::vector<OpId> merges;               // By leaf; operands by branch.
};

// An array instruction that has no op of its own, and what it stands for: an
// element of a tuple, a parameter or the result of a computation that is walked
// into, or what an earlier instruction computes.
struct OtherName {
  const Instruction* instruction = nullptr;
  ValueId value = 0;
};

struct FlatGraph {
  std::vector<FlatOp> ops;  // A value's producer comes before its users, but
                            // for what comes back to a kCarry.
  std::vector<FlatValue> values;
  std::vector<Region> regions;  // 0 is the entry.
  std::vector<Loop> loops;
  std::vector<Branch> branches;
  std::vector<OpId> parameters;  // By leaf of all entry parameters in order.
  std::vector<OpId> outputs;     // By leaf of the entry's root.
  std::vector<OtherName> other_names;

  const FlatOp& producer(ValueId value) const {
    return ops[values[value].producer];
  }
};

// Regions list live ops only; a loop may have dead carries.
// Requires: `module` passed Verify and outlives the graph.
FlatGraph Flatten(const Module& module);

// The same graph with only these ops live, of those that were.
// Requires: what a live op depends on is live, or not needed.
FlatGraph Restricted(const FlatGraph& graph, const std::vector<bool>& live);

// For each value, the live ops that use it (once per use).
std::vector<std::vector<OpId>> UsersOf(const FlatGraph& graph);

}  // namespace meshwright

#endif  // MESHWRIGHT_GRAPH_FLAT_GRAPH_H_
