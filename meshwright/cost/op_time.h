// The time of one instruction, or one kernel, on one device.
//
//   a dot of 2 GFLOP that touches 12 MB, on a device that reaches 500 TFLOP/s
//   and 4 TB/s and starts a kernel every 4 us:
//   max(2e9 / 500e12, 12e6 / 4e12) + 4e-6 = 8 us
#ifndef MESHWRIGHT_COST_OP_TIME_H_
#define MESHWRIGHT_COST_OP_TIME_H_

#include "absl/types/span.h"
#include "meshwright/analysis/flops.h"
#include "meshwright/base/element_type.h"
#include "meshwright/cost/convolution_windows.h"
#include "meshwright/cost/kernels.h"
#include "meshwright/cost/local_sizes.h"
#include "meshwright/cost/rates.h"

namespace meshwright {

// Which of the rates applies.
enum class Unit : uint8_t { kVector, kContraction, kConvolution };
Unit UnitOf(const Instruction& instruction);

// What one device does: the work on local shapes.
struct LocalWork {
  Unit unit = Unit::kVector;
  ElementType type = ElementType::kF32;  // Of the operands.
  Work work;
  // Contractions: the number of matrix pairs in the batch. If they do not run
  // concurrently, each must be large to be fast.
  double batch = 1;
  bool strided = false;  // Elements are permuted in memory.
  bool turns_filter = false;
  bool unaligned = false;  // See IsUnaligned.
  // Reads rows, then computes with them: the one does not hide the other.
  bool holds_rows = false;
  double column_steps = 0;  // See Kernel.
  ConvolutionWindows windows;
  double launches = 1;        // Of a convolution, one for each group.
  double repacked_bytes = 0;  // Of operands whose layout is changed.
};

// A kernel on its own: the slower of arithmetic and memory, plus its start. CPU
// cores pack operands of a contraction before it begins, so that both add up.
double KernelSeconds(const LocalWork& local, const Rates& rates);
// The same without its start; `memory`: seconds to move its bytes.
double WorkSeconds(const LocalWork& local, double memory, const Rates& rates);
// An instruction on arrays of these sizes, which matter only if its unit is not
// kVector. Nothing is strided, and only what a ragged-dot puts into blocks is
// repacked; rows that fill these up add to its work.
LocalWork LocalWorkOf(const Instruction& instruction, const Work& work,
                      const LocalSizes& sizes);

// On each of `devices` that share it evenly.
double KernelSeconds(const Kernel& kernel, const Rates& rates,
                     double devices = 1);

// The same if the instruction is fused into another kernel: arithmetic only.
double FusedSeconds(const LocalWork& local, const Rates& rates);

// An instruction as part of kernels whose other instructions may have other
// shardings: what a search can know before there is a program.
struct KernelPart {
  LocalWork local;           // Bytes: those that it reads and stores itself.
  Work kernel;               // All of the first kernel that it is part of.
  int32_t kernels = 1;       // That compute it.
  bool is_start = true;      // The kernel's start is attributed to it.
  double scratch_bytes = 0;  // Of layout copies.
};
// Its share of the seconds of its kernels.
double PartSeconds(const KernelPart& part, const Rates& rates);

}  // namespace meshwright

#endif  // MESHWRIGHT_COST_OP_TIME_H_
