// How long one instruction, or one kernel, takes on one device.
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
#include "meshwright/cost/rates.h"

namespace meshwright {

// Which of the rates counts.
enum class Unit : uint8_t { kVector, kContraction, kConvolution };
Unit UnitOf(const Instruction& instruction);

// What one device does: the work with its local shapes.
struct LocalWork {
  Unit unit = Unit::kVector;
  ElementType type = ElementType::kF32;  // Of the operands.
  Work work;
  // Contractions of so many pairs; where they do not run together, every one
  // must be large to be fast.
  double batch = 1;
  bool strided = false;    // Elements change their order in memory.
  bool unaligned = false;  // IsUnaligned.
  ConvolutionWindows windows;
  double repacked_bytes = 0;  // Of operands that are brought into an order.
};

// A kernel by itself: the slower of arithmetic and memory, and its start. Cores
// pack what they contract before they begin, so that there both count.
double KernelSeconds(const LocalWork& local, const Rates& rates);
// The same without its start; `memory` as it moves its bytes.
double WorkSeconds(const LocalWork& local, double memory, const Rates& rates);
// The product of the sizes of a dot's batch dimensions; else 1.
double BatchOf(const Instruction& instruction);
// Whether rows of arrays with these sizes begin elsewhere than at multiples of
// 16 bytes, where accelerators read them as a whole.
bool IsUnaligned(ElementType type, absl::Span<const int64_t> sizes);
// On each of `devices` that share it evenly.
double KernelSeconds(const Kernel& kernel, const Rates& rates,
                     double devices = 1);

// The same, when the instruction becomes part of another kernel: arithmetic
// only.
double FusedSeconds(const LocalWork& local, const Rates& rates);

}  // namespace meshwright

#endif  // MESHWRIGHT_COST_OP_TIME_H_
