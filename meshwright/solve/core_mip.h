// A core as a mixed-integer programme, for HiGHS.
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
  // Nothing that is cheaper than `upper` costs less, as far as doubles tell.
  int64_t bound = 0;
  int64_t iterations = 0;
};

// Looks for something cheaper than `upper`, which `known` costs (or empty).
// An option and a pair of options are a variable each; the options of pairs
// add up to those of nodes, usages to at most the capacities. Nothing, and a
// bound of 0, without HiGHS.
CoreMipAnswer SolveCoreMip(const Core& core, absl::Span<const int32_t> known,
                           int64_t upper, const CoreMipOptions& options);

}  // namespace meshwright

#endif  // MESHWRIGHT_SOLVE_CORE_MIP_H_
