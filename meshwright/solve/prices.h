// Usage with a price per point: how a limit becomes a cost.
#ifndef MESHWRIGHT_SOLVE_PRICES_H_
#define MESHWRIGHT_SOLVE_PRICES_H_

#include <vector>

#include "absl/types/span.h"
#include "meshwright/solve/core.h"

namespace meshwright {

// By point: what a unit of usage costs there; never negative.
using Prices = std::vector<double>;

// unary[option] = cost + price of the usage, for the options of all nodes.
// Returns the work.
int64_t PriceOptions(const Core& core, const Prices& prices,
                     std::vector<double>& unary);

// What the capacities are worth.
double PriceOfCapacity(const Core& core, const Prices& prices);

// Usage at every point when each node takes a mixture of its options: an option
// weighs exp(-slack / temperature).
void SoftUsage(const Core& core, absl::Span<const double> slack,
               double temperature, std::vector<double>& usage);

// Usage at every point.
void UsageOf(const Core& core, absl::Span<const int32_t> choice,
             std::vector<int64_t>& usage);

}  // namespace meshwright

#endif  // MESHWRIGHT_SOLVE_PRICES_H_
