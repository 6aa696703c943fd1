// A module as one flat graph of operations on arrays.
//
// Calls are inlined, tuples disappear, and loops and branches become plain
// operations on values:
//
//   while (carry) {body}   a kCarry op per loop-carried array, whose operands
//                          are the initial value and the value after an
//                          iteration; its result is what the condition, the
//                          body and the code behind the loop see (a phi)
//   conditional            a kEnter op per array that goes into a branch, and a
//                          kMerge op per array that comes out
//   entry                  a kParameter op per input array, a kOutput op per
//                          output array
//   opt-barrier (x, tie)   if only x is used of it: an op on x alone, which
//                          must come after the tie
//
// Equal instructions on equal operands become one op (CSE).
//
// So choosing shardings is one question per op, whatever the nesting.
#ifndef MESHWRIGHT_GRAPH_FLAT_GRAPH_H_
#define MESHWRIGHT_GRAPH_FLAT_GRAPH_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/base/strong_id.h"
#include "meshwright/hlo/module.h"

namespace meshwright {

using ValueId = StrongId<struct ValueIdTag>;
using OpId = StrongId<struct OpIdTag>;
using RegionId = StrongId<struct RegionIdTag>;

enum class OpKind : uint8_t {
  kParameter,
  kCompute,
  kCarry,
  kEnter,
  kMerge,
  kOutput,
};

struct FlatValue {
  OpId producer;
  int32_t result = 0;  // Which result of the producer.
  const Shape* shape = nullptr;
};

struct FlatOp {
  OpKind kind = OpKind::kCompute;
  // What it computes; for the other kinds, what it belongs to (the while, the
  // conditional, the parameter, the entry's root).
  const Instruction* instruction = nullptr;
  int32_t leaf = 0;  // Which array of `instruction`, for the other kinds.
  std::vector<ValueId> operands;
  ValueId first_result;
  int32_t result_count = 0;
  RegionId region;
  double repeats = 1;  // Executions per step, as far as is known.
  double entries = 1;  // Of a kCarry: executions of its loop.
  bool live = false;   // Some output depends on it. Skip other ops.
  // A value that must be computed before the op although the op does not read
  // it; -1 if none.
  ValueId after{-1};
};

// An instance of a computation: its ops and nested constructs in order.
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
  RegionId condition;
  RegionId body;
  ValueId go_on;  // The condition's root.
  OpId end;       // All its ops, carries first, come before this one.
};

struct Branch {
  const Instruction* instruction = nullptr;
  ValueId selector;
  std::vector<RegionId> regions;
  std::vector<std::vector<OpId>> enters;  // By branch and leaf.
  std::vector<OpId> merges;               // By leaf; operands by branch.
};

// An array instruction without an op of its own, and the value it stands for:
// an element of a tuple, a parameter or the result of an inlined computation,
// or a duplicate of an earlier instruction.
struct OtherName {
  const Instruction* instruction = nullptr;
  ValueId value;
};

struct FlatGraph {
  // Producers before users, except for the back edges into kCarry ops.
  std::vector<FlatOp> ops;
  std::vector<FlatValue> values;
  std::vector<Region> regions;  // Region 0 is the entry.
  std::vector<Loop> loops;
  std::vector<Branch> branches;
  std::vector<OpId> parameters;  // By leaf of all entry parameters in order.
  std::vector<OpId> outputs;     // By leaf of the entry's root.
  std::vector<OtherName> other_names;

  const FlatOp& producer(ValueId value) const {
    return ops[values[value].producer];
  }
};

// Regions list live ops only; a loop may have dead carries. Requires: `module`
// passed Verify and outlives the graph.
FlatGraph Flatten(const Module& module);

// The same graph with only these of its live ops live. Requires: whatever a
// live op depends on is live, or not needed.
FlatGraph Restricted(const FlatGraph& graph, const std::vector<bool>& live);

// By value: the live ops that use it (once per use).
std::vector<std::vector<OpId>> UsersOf(const FlatGraph& graph);

}  // namespace meshwright

#endif  // MESHWRIGHT_GRAPH_FLAT_GRAPH_H_
