// What the ops of a step read from and write to memory after fusion, and how
// long values are live.
#ifndef MESHWRIGHT_SEARCH_TRAFFIC_H_
#define MESHWRIGHT_SEARCH_TRAFFIC_H_

#include <cstdint>
#include <vector>

#include "meshwright/analysis/flops.h"
#include "meshwright/cost/kernels.h"
#include "meshwright/cost/program_memory.h"
#include "meshwright/graph/flat_graph.h"
#include "meshwright/hlo/module.h"

namespace meshwright {

struct OpTraffic {
  // Kernels that compute it; 0 for ops that only rename values.
  int32_t kernels = 0;
  bool is_root = false;  // Its result is materialised.
  // It represents its kernel: one of the materialised ops.
  bool is_start = false;
  bool strided = false;       // Elements are permuted.
  bool turns_filter = false;  // As in Kernel.
  bool holds_rows = false;
  bool unaligned_rows = false;
  double column_steps = 0;     // Of its kernel, unsharded, if it is its start.
  double writes = 0;           // The share of its results that it writes.
  std::vector<double> reads;   // By operand: the share read, over all kernels.
  double scratch_bytes = 0;    // Of its kernel, unsharded.
  bool has_workspace = false;  // As of cost/workspaces.h.
  // Operands whose XLA layout a contraction changes (Kernel::repacked).
  std::vector<int32_t> repacked;
  Work kernel;  // Of the first kernel that it is part of, unsharded.
};

struct StepTraffic {
  std::vector<OpTraffic> ops;  // By op; for compute ops only.
  // By value: the last op whose kernel reads it from memory; -1 if none.
  std::vector<OpId> last_read;
  // Where user kernels or shard_map regions are among the ops: the kernels of
  // their bodies.
  ProgramKernels bodies;
};

// Requires: `graph` is Flatten(module).
StepTraffic TrafficOf(const Module& module, const FlatGraph& graph,
                      const FusionStyle& style);

}  // namespace meshwright

#endif  // MESHWRIGHT_SEARCH_TRAFFIC_H_
