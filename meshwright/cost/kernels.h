// What a compiler makes of a computation: instructions that run by themselves,
// with those that it computes along with them.
//
//   sub = subtract(dot, broadcast(max))     fused into exp
//   exp = exponential(sub)                  a kernel: reads dot and max
//   sum = reduce(exp)                       a kernel
//   out = divide(exp, broadcast(sum))       a kernel: reads exp and sum
//
// A model of XLA's fusion. Elementwise instructions, broadcasts, slices and the
// like are computed again in every kernel that uses them, and need no memory,
// unless something that cannot fuse needs them whole (contractions,
// collectives, the result), they are dear (exp, divide) and used twice, or
// computing them again would read more than storing them. Reshapes are free.
//
// Accelerators also fuse reductions of rows, so that of the above only `out`
// remains (stored_values.h), and make one kernel with several results of those
// that go through the same arrays (merge_kernels.h).
#ifndef MESHWRIGHT_COST_KERNELS_H_
#define MESHWRIGHT_COST_KERNELS_H_

#include <cstdint>
#include <vector>

#include "meshwright/analysis/flops.h"
#include "meshwright/cost/fusible.h"
#include "meshwright/hlo/computation.h"

namespace meshwright {

struct FusionStyle {
  // Reductions compute their operand on the way (GPU); else it is stored (CPU).
  bool reduce_reads_fused = false;
  // Reductions of rows are fused, and kernels over the same arrays merged.
  // Only with `reduce_reads_fused`.
  bool fuses_rows = false;
  // Convolutions want their arrays with channels last and copy those that are
  // not.
  bool transposes_for_convolution = true;
  // The result of an all-reduce may take its operand's memory.
  bool all_reduce_in_place = false;
  // Collectives split or join arrays along their first dimension only; others
  // are transposed before and after.
  bool transposes_for_collectives = false;
  // Contractions want batch dimensions first and copy operands whose dimensions
  // are in another order.
  bool transposes_for_dots = false;
  // Contractions copy operands into blocks first, with jumps where a matrix is
  // read across its rows.
  bool packs_for_dots = false;
  // Sorts are networks of comparisons, most of them near the cores.
  bool sorts_by_networks = false;
  // Kernels run in the order in which they become ready (kernel_order.h); else
  // in that of the program.
  bool runs_when_ready = false;
};

// What compilers for this kind of device do.
FusionStyle FusionStyleFor(bool cpu);

// Operand `operand` of `user` is read from memory: this share of its bytes.
struct KernelRead {
  const Instruction* user = nullptr;
  int32_t operand = 0;
  double share = 1;
};

// A kernel reads an input with its dimensions in another order in memory.
struct TurnedInput {
  int32_t input = 0;           // Into the kernel's inputs.
  std::vector<int64_t> order;  // Outermost first, of more than one element.
};

struct Kernel {
  const Instruction* root = nullptr;
  // Further results, of a kernel merged from several.
  std::vector<const Instruction*> more_results;
  // What it reads: results of kernels, parameters and constants, each once.
  std::vector<const Instruction*> inputs;
  // Those whose memory a result may take: read element for element.
  std::vector<int32_t> in_place;  // Into `inputs`.
  std::vector<KernelRead> reads;  // By its instructions, each input once.
  std::vector<const Instruction*> fused;  // Instructions besides results.
  Work work;                              // Bytes: what it reads and writes.
  int64_t scratch_bytes = 0;              // Transposed copies that it needs.
  std::vector<int32_t> copied;      // Inputs that it needs such copies of,
  std::vector<TurnedInput> turned;  // or that have copies for several kernels.
  bool strided = false;             // Elements change their order in memory.
  // Inputs that it brings into another order before it contracts them.
  std::vector<int32_t> repacked;
};

// In an order in which they can run; for control flow and opaque instructions a
// kernel with their operands as inputs and without work of what they call.
// Free instructions have none. Time linear in the instructions.
std::vector<Kernel> KernelsOf(const Computation& computation,
                              const ModuleWork& work, const FusionStyle& style);

}  // namespace meshwright

#endif  // MESHWRIGHT_COST_KERNELS_H_
