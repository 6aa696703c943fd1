// What the ops of a step read from and write to memory, and how long values
// stay there, when a compiler has fused them.
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
  int32_t kernels = 0;        // That compute it; 0 for what only names values.
  bool is_root = false;       // Its result is stored.
  bool is_start = false;      // It stands for its kernel: one of those stored.
  bool strided = false;       // Elements change their order.
  double writes = 0;          // The share of its results that it stores.
  std::vector<double> reads;  // By operand: the share read, over all kernels.
  double scratch_bytes = 0;   // Of its kernel, unsplit.
  // Operands that a contraction brings into another order (Kernel::repacked).
  std::vector<int32_t> repacked;
  Work kernel;  // Of the first kernel it is part of, unsplit.
};

struct StepTraffic {
  std::vector<OpTraffic> ops;  // By op; of compute ops only.
  // By value: the last op whose kernel reads its memory; -1 if none.
  std::vector<OpId> last_read;
  // Where the user's kernels are among the ops: what their bodies compute.
  ProgramKernels bodies;
};

// Requires: `graph` is Flatten(module).
StepTraffic TrafficOf(const Module& module, const FlatGraph& graph,
                      const FusionStyle& style);

}  // namespace meshwright

#endif  // MESHWRIGHT_SEARCH_TRAFFIC_H_
