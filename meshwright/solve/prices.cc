#include "meshwright/solve/prices.h"

#include <cmath>

namespace meshwright {

int64_t PriceOptions(const Core& core, const Prices& prices,
                     std::vector<double>& unary) {
  std::vector<double> before(prices.size() + 1, 0.0);
  for (size_t p = 0; p < prices.size(); ++p) {
    before[p + 1] = before[p] + prices[p];
  }
  unary.assign(core.costs.begin(), core.costs.end());
  for (int32_t v = 0; v < core.nodes; ++v) {
    double* const out = &unary[core.first_option[v]];
    const int32_t options = core.options(v);
    for (const CorePiece& piece : core.Pieces(v)) {
      const double price = before[piece.last] - before[piece.first];
      if (price <= 0) continue;
      const int64_t* const usage = &core.usage[piece.usage];
      for (int32_t a = 0; a < options; ++a) {
        out[a] += price * static_cast<double>(usage[a]);
      }
    }
  }
  return std::ssize(core.usage) + std::ssize(core.costs);
}

double PriceOfCapacity(const Core& core, const Prices& prices) {
  double total = 0;
  for (size_t p = 0; p < prices.size(); ++p) {
    total += prices[p] * static_cast<double>(core.capacity[p]);
  }
  return total;
}

void SoftUsage(const Core& core, absl::Span<const double> slack,
               double temperature, std::vector<double>& usage) {
  usage.assign(core.points() + 1, 0.0);
  std::vector<double> weight;
  for (int32_t v = 0; v < core.nodes; ++v) {
    if (core.Pieces(v).empty()) continue;
    const int32_t options = core.options(v);
    weight.resize(options);
    double total = 0;
    for (int32_t a = 0; a < options; ++a) {
      // Beyond 30, the weight of an option is negligible.
      const double distance = slack[core.first_option[v] + a] / temperature;
      weight[a] = distance > 30 ? 0.0 : std::exp(-distance);
      total += weight[a];
    }
    for (const CorePiece& piece : core.Pieces(v)) {
      double used = 0;
      for (int32_t a = 0; a < options; ++a) {
        used += weight[a] * static_cast<double>(core.usage[piece.usage + a]);
      }
      usage[piece.first] += used / total;
      usage[piece.last] -= used / total;
    }
  }
  for (int32_t p = 0; p < core.points(); ++p) usage[p + 1] += usage[p];
  usage.pop_back();
}

void UsageOf(const Core& core, absl::Span<const int32_t> choice,
             std::vector<int64_t>& usage) {
  usage.assign(core.points() + 1, 0);
  for (int32_t v = 0; v < core.nodes; ++v) {
    for (const CorePiece& piece : core.Pieces(v)) {
      const int64_t used = core.usage[piece.usage + choice[v]];
      usage[piece.first] += used;
      usage[piece.last] -= used;
    }
  }
  for (int32_t p = 0; p < core.points(); ++p) usage[p + 1] += usage[p];
  usage.pop_back();
}

}  // namespace meshwright
