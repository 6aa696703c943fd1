// Floating-point operations and memory traffic of instructions and programs.
//
//   dot(f32[8,4], f32[4,16]): 2 * 8 * 16 * 4 = 1024 flops,
//                             4 * (32 + 64 + 128) = 896 bytes
//
// Conventions. A multiply-add is two operations. A dot is 2 * result elements *
// contracted elements. A convolution is 2 per multiply-add whose window element
// falls on an input element; those on padding or on the holes of a dilated
// input are not counted, so that a strided convolution and its input gradient
// cost the same. Elementwise ops count their elements, reduce its input
// elements, reduce-window and select-and-scatter elements * window, scatter its
// updates, sort n log n; data movement is free. Integer ops count like
// floating-point ones; transcendental functions (exp, tanh, ...) are counted
// separately, one per element. Calls and fusions count what they call, a
// conditional its most expensive branch, a loop its trip count times body and
// condition. Custom calls count what is recorded in them (recorded_flops.h),
// or known of their target; kernels otherwise what their body does.
#ifndef MESHWRIGHT_ANALYSIS_FLOPS_H_
#define MESHWRIGHT_ANALYSIS_FLOPS_H_

#include <cstdint>

#include "absl/container/flat_hash_map.h"
#include "meshwright/hlo/module.h"

namespace meshwright {

// Doubles: integers are exact up to 2^53, and nothing overflows.
struct Work {
  double flops = 0;
  double transcendentals = 0;
  // Operands read and results written, as if nothing were fused or cached;
  // slices, gathers and in-place updates count what they touch.
  double bytes = 0;

  Work& operator+=(const Work& other);
  bool operator==(const Work&) const = default;
};

Work operator*(double count, const Work& work);

// Dots, convolutions, and kernels that consist of them or whose operations are
// recorded.
bool IsContraction(const Instruction& instruction);

// The work of everything in a module, computed once, in linear time. Requires:
// the module passed Verify and outlives this.
class ModuleWork {
 public:
  explicit ModuleWork(const Module& module);

  // Of one execution of the instruction, with everything it calls.
  Work Of(const Instruction& instruction) const;
  // Of one execution of the computation.
  Work Of(const Computation& computation) const;
  // Of one execution of the entry.
  Work total() const { return total_; }
  // Loops whose trip count is unknown; each is counted as one iteration.
  int64_t unknown_loops() const { return unknown_loops_; }

 private:
  absl::flat_hash_map<const Computation*, Work> computations_;
  absl::flat_hash_map<const Instruction*, int64_t> trip_counts_;
  Work total_;
  int64_t unknown_loops_ = 0;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_ANALYSIS_FLOPS_H_
