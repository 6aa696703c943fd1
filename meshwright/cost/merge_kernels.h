// Merges kernels that iterate over the same arrays into one with several
// results (horizontal and producer-consumer multi-output fusion).
//
//   mu2 = 0.9 mu + 0.1 g          these three read g, mu and nu two or three
//   nu2 = 0.99 nu + 0.01 g g      times; as one kernel they read each once,
//   w2  = w - mu2 / sqrt(nu2)     and w2 never reads mu2 and nu2
//
// A kernel joins an earlier one that iterates over as many elements and
// computes, or reads in the same order, an array of that size that it reads,
// provided that no other kernel has to run between the two.
#ifndef MESHWRIGHT_COST_MERGE_KERNELS_H_
#define MESHWRIGHT_COST_MERGE_KERNELS_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "meshwright/cost/kernels.h"
#include "meshwright/hlo/computation.h"

namespace meshwright {

// How a kernel iterates over its inputs.
struct KernelLoop {
  bool merges = false;                // Whether it may be merged.
  int64_t elements = 0;               // That it iterates over.
  bool crosses = false;               // It needs some elements in two orders.
  const Shape* reduced_to = nullptr;  // The result, if that is a reduction.
  std::vector<bool> in_order;         // By input: read element by element.
};

struct KernelGroup {
  std::vector<int32_t> members;  // Indices of kernels, ascending.
  int32_t runs_at = 0;  // The member at whose position all of them run.
};

// All kernels, in an order in which they can run. Linear in the kernels and
// their inputs.
std::vector<KernelGroup> GroupKernels(const Computation& computation,
                                      absl::Span<const Kernel> kernels,
                                      absl::Span<const KernelLoop> loops);

}  // namespace meshwright

#endif  // MESHWRIGHT_COST_MERGE_KERNELS_H_
