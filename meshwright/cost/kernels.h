// The kernels of a computation: instructions that run on their own, with those
// that the compiler fuses into them.
//
//   sub = subtract(dot, broadcast(max))     fused into exp
//   exp = exponential(sub)                  a kernel: reads dot and max
//   sum = reduce(exp)                       a kernel
//   out = divide(exp, broadcast(sum))       a kernel: reads exp and sum
//
// A model of XLA's fusion. Elementwise instructions, broadcasts, slices and the
// like are recomputed in every kernel that uses them and need no memory, unless
// something that cannot fuse needs them materialised (contractions,
// collectives, the result), they are expensive (exp, divide) and used twice, or
// recomputing them would read more than storing them. Reshapes are free.
//
// Accelerators also fuse row reductions, so that of the above only `out`
// remains (stored_values.h), and merge kernels that iterate over the same
// arrays into one with several results (merge_kernels.h).
#ifndef MESHWRIGHT_COST_KERNELS_H_
#define MESHWRIGHT_COST_KERNELS_H_

#include <cstdint>
#include <vector>

#include "meshwright/analysis/flops.h"
#include "meshwright/cost/fusible.h"
#include "meshwright/hlo/computation.h"

namespace meshwright {

struct FusionStyle {
  // Reductions compute their operand on the fly (GPU); otherwise it is stored
  // (CPU).
  bool reduce_reads_fused = false;
  // Row reductions are fused, and kernels over the same arrays merged. Only
  // with `reduce_reads_fused`.
  bool fuses_rows = false;
  // Convolutions need arrays with channels last, and copy others.
  bool transposes_for_convolution = true;
  // The result of an all-reduce may reuse its operand's memory.
  bool all_reduce_in_place = false;
  // Collectives split or concatenate arrays along their first dimension only;
  // others are transposed before and after.
  bool transposes_for_collectives = false;
  // Contractions need batch dimensions first, and copy operands with other
  // layouts.
  bool transposes_for_dots = false;
  // Contractions pack operands into blocks first, with strided reads if a
  // matrix is read across its rows.
  bool packs_for_dots = false;
  // Sorts are sorting networks, mostly in cache.
  bool sorts_by_networks = false;
  // Kernels run in the order in which they become ready (kernel_order.h);
  // otherwise in program order.
  bool runs_when_ready = false;
  // Kernels need memory to work in (workspaces.h).
  bool has_workspaces = false;
};

// The style of compilers for CPUs, or for accelerators.
FusionStyle FusionStyleFor(bool cpu);

// A kernel reads this share of the bytes of operand `operand` of `user` from
// memory.
struct KernelRead {
  const Instruction* user = nullptr;
  int32_t operand = 0;
  double share = 1;
};

// A kernel reads an input in another layout.
struct TurnedInput {
  int32_t input = 0;  // Index into the kernel's inputs.
  // Outermost first; only dimensions of more than one element.
  std::vector<int64_t> order;
};

struct Kernel {
  const Instruction* root = nullptr;
  // Further results, of a kernel merged from several.
  std::vector<const Instruction*> more_results;
  // What it reads: results of kernels, parameters and constants, each once.
  std::vector<const Instruction*> inputs;
  // Inputs that are read element by element, so that a result may reuse their
  // memory.
  std::vector<int32_t> in_place;  // Indices into `inputs`.
  std::vector<KernelRead> reads;  // By its instructions; each input once.
  std::vector<const Instruction*> fused;  // Instructions other than results.
  Work work;                              // Bytes: what it reads and writes.
  int64_t scratch_bytes = 0;        // Of the transposed copies that it needs.
  int64_t workspace_bytes = 0;      // While it runs (workspaces.h).
  std::vector<int32_t> copied;      // Inputs of which it needs such copies,
  std::vector<TurnedInput> turned;  // or of which several kernels share a copy.
  bool strided = false;             // Elements are permuted in memory.
  // It reads the gradient of a filter, which libraries write turned.
  bool turns_filter = false;
  // It reduces whole rows and computes with the results.
  bool holds_rows = false;
  bool unaligned_rows = false;  // These are unaligned (fusible.h).
  // Reads and writes that follow one another: sums over columns take 32 rows
  // at a time, of each of their arrays.
  double column_steps = 0;
  // Inputs whose layout it changes before contracting them.
  std::vector<int32_t> repacked;
};

// In an order in which they can run. Control flow and opaque instructions are
// kernels with their operands as inputs, without the work of what they call.
// Free instructions have none. Linear in the number of instructions.
std::vector<Kernel> KernelsOf(const Computation& computation,
                              const ModuleWork& work, const FusionStyle& style);

}  // namespace meshwright

#endif  // MESHWRIGHT_COST_KERNELS_H_
