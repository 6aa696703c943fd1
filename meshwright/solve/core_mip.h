// A core as a mixed-integer program, solved by HiGHS.
#ifndef MESHWRIGHT_SOLVE_CORE_MIP_H_
#define MESHWRIGHT_SOLVE_CORE_MIP_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/types/span.h"
#include "meshwright/solve/core.h"

namespace meshwright {

struct CoreMipOptions {
  int64_t iterations = INT64_MAX;  // Of HiGHS.
  std::function<bool()> stop = nullptr;
};

struct CoreMipAnswer {
  // Costs are without `core.constant`.
  std::vector<int32_t> choice;  // Cheaper than `upper`; empty: none was found.
  int64_t cost = 0;
  // A lower bound on what is cheaper than `upper`, in floating point.
  int64_t bound = 0;
  int64_t iterations = 0;
};

// Searches for an assignment cheaper than `upper`; `known` is one that costs
// `upper` (or empty). Formulation: a variable for each option and for each pair
// of options of an edge; the variables of pairs sum to those of options, and
// usages to at most the capacities. Returns nothing, and a bound of 0, without
// HiGHS.
CoreMipAnswer SolveCoreMip(const Core& core, absl::Span<const int32_t> known,
                           int64_t upper, const CoreMipOptions& options);

}  // namespace meshwright

#endif  // MESHWRIGHT_SOLVE_CORE_MIP_H_
