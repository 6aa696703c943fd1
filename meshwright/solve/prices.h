// Lagrangian relaxation of limits: a price per point turns usage into cost.
#ifndef MESHWRIGHT_SOLVE_PRICES_H_
#define MESHWRIGHT_SOLVE_PRICES_H_

#include <vector>

#include "absl/types/span.h"
#include "meshwright/solve/core.h"

namespace meshwright {

// By point: the price of a unit of usage; non-negative.
using Prices = std::vector<double>;

// unary[option] = cost + price of the usage, for the options of all nodes.
// Returns the work done.
int64_t PriceOptions(const Core& core, const Prices& prices,
                     std::vector<double>& unary);

// The value of all capacities at these prices.
double PriceOfCapacity(const Core& core, const Prices& prices);

// Usage at every point by a mixture of options, where an option of a node has
// weight exp(-slack / temperature).
void SoftUsage(const Core& core, absl::Span<const double> slack,
               double temperature, std::vector<double>& usage);

// Usage at every point.
void UsageOf(const Core& core, absl::Span<const int32_t> choice,
             std::vector<int64_t>& usage);

}  // namespace meshwright

#endif  // MESHWRIGHT_SOLVE_PRICES_H_
