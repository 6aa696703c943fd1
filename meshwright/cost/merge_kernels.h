// Kernels that go through the same arrays become one with several results.
//
//   mu2 = 0.9 mu + 0.1 g          these three read g, mu and nu twice or
//   nu2 = 0.99 nu + 0.01 g g      thrice; as one kernel they read each once,
//   w2  = w - mu2 / sqrt(nu2)     and w2 never reads mu2 and nu2
//
// A kernel joins an earlier one that goes through as many elements and makes,
// or reads in the same order, an array of that size that it reads, if nothing
// else need run between the two.
#ifndef MESHWRIGHT_COST_MERGE_KERNELS_H_
#define MESHWRIGHT_COST_MERGE_KERNELS_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "meshwright/cost/kernels.h"
#include "meshwright/hlo/computation.h"

namespace meshwright {

// How a kernel goes through its inputs.
struct KernelLoop {
  bool merges = false;                // It may be merged.
  int64_t elements = 0;               // That it goes through.
  bool crosses = false;               // It needs some in two orders.
  const Shape* reduced_to = nullptr;  // The result, if that is a reduction.
  std::vector<bool> in_order;         // By input: read element by element.
};

struct KernelGroup {
  std::vector<int32_t> members;  // Into the kernels, ascending.
  int32_t runs_at = 0;           // The member in whose place all of them run.
};

// All kernels, in an order in which they can run. Time linear in the kernels
// and their inputs.
std::vector<KernelGroup> GroupKernels(const Computation& computation,
                                      absl::Span<const Kernel> kernels,
                                      absl::Span<const KernelLoop> loops);

}  // namespace meshwright

#endif  // MESHWRIGHT_COST_MERGE_KERNELS_H_
