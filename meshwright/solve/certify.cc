#include "meshwright/solve/certify.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace meshwright {
namespace {

using Wide = __int128;

// Costs are multiples of 2^-32 here. Values above 2^80 in a message or a
// multiplier are clamped: any value gives a valid bound, and sums stay below
// 2^127.
constexpr double kScale = 4294967296.0;

Wide ToWide(double value) {
  constexpr double kMost = 1e24;
  return static_cast<Wide>(std::clamp(value * kScale, -kMost, kMost));
}

Wide Unit() { return static_cast<Wide>(1) << 32; }

Wide CeilDivide(Wide value, Wide by) {
  const Wide quotient = value / by;
  return quotient * by < value ? quotient + 1 : quotient;
}

// The largest price for which the sum of price * usage still fits.
Wide LargestPrice(const Core& core) {
  Wide usage = 1;
  for (const int64_t capacity : core.capacity) usage += capacity;
  for (const int64_t one : core.usage) usage += one;
  return (static_cast<Wide>(1) << 120) / usage / (core.points() + 1);
}

// By option of all nodes: its cost plus the price of its usage at the
// multipliers. The price of the capacities is subtracted from *total.
std::vector<Wide> PricedCosts(const Core& core,
                              absl::Span<const double> multipliers,
                              Wide* total) {
  const Wide largest = LargestPrice(core);
  std::vector<Wide> prices(core.points() + 1, 0);
  for (int32_t p = 0; p < core.points(); ++p) {
    const Wide price = std::clamp(ToWide(multipliers[p]), Wide{0}, largest);
    prices[p + 1] = prices[p] + price;
    *total -= price * core.capacity[p];
  }
  std::vector<Wide> priced;
  priced.reserve(core.costs.size());
  for (int32_t v = 0; v < core.nodes; ++v) {
    const int32_t first = core.first_option[v];
    for (int32_t a = 0; a < core.options(v); ++a) {
      Wide cost = Unit() * core.costs[first + a];
      for (const CorePiece& piece : core.Pieces(v)) {
        cost += (prices[piece.last] - prices[piece.first]) *
                core.usage[piece.usage + a];
      }
      priced.push_back(cost);
    }
  }
  return priced;
}

}  // namespace

// A backward pass as in messages.cc. When v is visited, its costs are m + d,
// where m is their minimum. For each earlier neighbour u, cost(e) - in >= out +
// least - floor(d / n), where n is at least the number of such u; so v and
// those edges cost at least m + the sum of `least`, and nothing that is visited
// later changes that.
int64_t CertifiedBound(const Core& core, absl::Span<const double> multipliers,
                       const Messages& messages) {
  Wide bound = Unit() * core.constant;
  const std::vector<Wide> priced = PricedCosts(core, multipliers, &bound);
  std::vector<Wide> back(core.link_options, 0);  // From later neighbours.
  std::vector<Wide> sum;
  for (int32_t v = core.nodes - 1; v >= 0; --v) {
    const int32_t options = core.options(v);
    sum.assign(&priced[core.first_option[v]],
               &priced[core.first_option[v]] + options);
    int32_t earlier = 0;
    for (const CoreLink& link : core.Links(v)) {
      earlier += link.other < v;
      for (int32_t a = 0; a < options; ++a) {
        sum[a] += link.other < v ? ToWide(messages[link.slot + a])
                                 : back[link.slot + a];
      }
    }
    const auto later = static_cast<int32_t>(core.Links(v).size()) - earlier;
    const Wide least = *std::ranges::min_element(sum);
    bound += least;
    for (Wide& value : sum) {
      value = (value - least) / std::max({earlier, later, int32_t{1}});
    }
    for (const CoreLink& link : core.Links(v)) {
      if (link.other > v) continue;
      const int32_t columns = core.options(link.other);
      Wide* const out = &back[core.links[link.reverse].slot];
      for (int32_t a = 0; a < options; ++a) {
        const Wide shifted = sum[a] - ToWide(messages[link.slot + a]);
        const int64_t* const row = core.Row(link, a);
        for (int32_t x = 0; x < columns; ++x) {
          const Wide value = shifted + Unit() * row[x];
          if (a == 0 || value < out[x]) out[x] = value;
        }
      }
      const Wide smallest = *std::min_element(out, out + columns);
      for (int32_t x = 0; x < columns; ++x) out[x] -= smallest;
      bound += smallest;
    }
  }
  // Costs are clamped at kCoreInfinity: nothing above it is known.
  const Wide whole = CeilDivide(bound, Unit());
  return static_cast<int64_t>(
      std::clamp(whole, Wide{0}, static_cast<Wide>(kCoreInfinity)));
}

}  // namespace meshwright
