#include "meshwright/solve/primal.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace meshwright {
namespace {

constexpr int kSweepsPerTry = 4;
constexpr int kTriesPerBall = 6;
constexpr double kWidestMargin = 1e-3;
constexpr double kNarrowestMargin = 1e-6;

double LogUniform(double low, double high, Random& random) {
  return low * std::exp(random.Unit() * std::log(high / low));
}

}  // namespace

Primal::Primal(const Core& core, int64_t upper, uint64_t seed)
    : core_(core),
      random_(seed),
      sweep_(core),
      now_(core),
      prices_(core.points(), 0.0),
      all_nodes_(core.nodes),
      unary_(core.costs.size()),
      best_cost_(upper) {
  std::iota(all_nodes_.begin(), all_nodes_.end(), 0);
  // High enough to matter relative to the costs, however large usage is.
  double cost = 1;
  for (int32_t v = 0; v < core.nodes; ++v) {
    const auto first = core.costs.begin() + core.first_option[v];
    cost +=
        static_cast<double>(*std::min_element(first, first + core.options(v)));
  }
  int64_t capacity = 1;
  for (const int64_t one : core.capacity) capacity = std::max(capacity, one);
  least_total_ = 0.01 * cost / static_cast<double>(capacity);
}

// Keeps the selection if it is the best one, and says whether to continue from
// it.
bool Primal::Keep(double margin) {
  if (!now_.allowed()) return false;
  if (now_.cost() < best_cost_) {
    best_cost_ = now_.cost();
    best_ = now_.choice();
    return true;
  }
  const auto most = static_cast<double>(best_cost_) * (1 + margin);
  return static_cast<double>(now_.cost()) <= most;
}

// Raises the prices of violated points by `part` of the sum of all prices.
void Primal::RaiseBroken(const std::vector<int64_t>& usage, double part,
                         Prices& prices) const {
  double total = 0;
  int32_t broken = 0;
  for (int32_t p = 0; p < core_.points(); ++p) {
    total += prices[p];
    broken += usage[p] > core_.capacity[p];
  }
  const double more = part * std::max(total, least_total_) / broken;
  for (int32_t p = 0; p < core_.points(); ++p) {
    if (usage[p] > core_.capacity[p]) prices[p] += more;
  }
}

// Sweeps choice_ with `prices`; if it fits, it is polished into now_.
bool Primal::TryPrices(const Prices& prices) {
  work_ += PriceOptions(core_, prices, unary_);
  for (int i = 0; i < 2; ++i) {
    work_ += sweep_.Run(all_nodes_, unary_, random_, choice_);
  }
  UsageOf(core_, choice_, usage_);
  for (int32_t p = 0; p < core_.points(); ++p) {
    if (usage_[p] > core_.capacity[p]) return false;
  }
  now_.Assign(choice_);
  work_ += Polish(core_, all_nodes_, now_);
  return true;
}

// Makes choice_ fit the capacities; leaves the result in now_.
bool Primal::Repair(Prices& prices, int rounds,
                    absl::FunctionRef<bool()> stop) {
  for (int round = 0; round < rounds && !stop(); ++round) {
    if (TryPrices(prices)) return true;
    RaiseBroken(usage_, 0.02 * std::pow(1.25, round), prices);
  }
  return false;
}

// Continues from now_ if it is good enough, otherwise goes back to `before`.
void Primal::KeepOrReturn(absl::Span<const int32_t> before) {
  if (!Keep(margin_) && has_start_) {
    now_.Assign(before);
  } else {
    has_start_ = true;
  }
}

int64_t Primal::Offer(absl::Span<const int32_t> choice,
                      absl::FunctionRef<bool()> stop) {
  work_ = 0;
  choice_.assign(choice.begin(), choice.end());
  Prices prices = prices_;
  const std::vector<int32_t> before = now_.choice();
  if (Repair(prices, 20, stop)) KeepOrReturn(before);
  return work_;
}

void Primal::Adopt(absl::Span<const int32_t> choice) {
  now_.Assign(choice);
  has_start_ = true;
  Keep(0);
}

int64_t Primal::FindFirst(int attempts, absl::FunctionRef<bool()> stop) {
  work_ = 0;
  choice_ = now_.choice();
  // First without prices: the cost found determines the scale of the prices.
  for (int i = 0; i < 8; ++i) {
    PriceOptions(core_, prices_, unary_);
    work_ += sweep_.Run(all_nodes_, unary_, random_, choice_);
  }
  const std::vector<int32_t> start = choice_;
  for (int i = 0; i < attempts && !stop(); ++i) {
    choice_ = start;
    Prices prices = prices_;
    // If raising the prices of violated points alone fails, all points get a
    // price from the start.
    if (i > 0) {
      const double price = least_total_ * std::pow(100.0, i);
      for (double& one : prices) one += price;
    }
    if (!Repair(prices, 40, stop)) continue;
    Keep(0);
    has_start_ = true;
    break;
  }
  return work_;
}

void Primal::PriceBall(const Prices& prices) {
  std::vector<double> before(prices.size() + 1, 0.0);
  for (size_t p = 0; p < prices.size(); ++p) {
    before[p + 1] = before[p] + prices[p];
  }
  for (const int32_t v : ball_) {
    const int32_t first = core_.first_option[v];
    const int32_t options = core_.options(v);
    for (int32_t a = 0; a < options; ++a) {
      unary_[first + a] = static_cast<double>(core_.costs[first + a]);
    }
    for (const CorePiece& piece : core_.Pieces(v)) {
      const double price = before[piece.last] - before[piece.first];
      const int64_t* const usage = &core_.usage[piece.usage];
      for (int32_t a = 0; a < options; ++a) {
        unary_[first + a] += price * static_cast<double>(usage[a]);
      }
      work_ += options;
    }
  }
  work_ += core_.points();
}

// Chooses anew for the nodes in ball_ until now_ fits; false if it never does.
bool Primal::SearchBall(Prices& prices) {
  choice_ = now_.choice();
  for (int attempt = 0; attempt < kTriesPerBall; ++attempt) {
    PriceBall(prices);
    for (int i = 0; i < kSweepsPerTry; ++i) {
      work_ += sweep_.Run(ball_, unary_, random_, choice_);
    }
    for (const int32_t v : ball_) now_.Set(v, choice_[v]);
    if (now_.broken_points() == 0) {
      work_ += Polish(core_, ball_, now_);
      return true;
    }
    RaiseBroken(now_.usage(), 0.02 * std::pow(2.0, attempt), prices);
  }
  return false;
}

bool Primal::Neighbourhood(double margin) {
  const auto largest = std::min<double>(1500, core_.nodes);
  const double size = LogUniform(std::min(20.0, largest), largest, random_);
  sweep_.Ball(random_.Below(core_.nodes), static_cast<int32_t>(size) + 1,
              random_, ball_);
  ball_before_.clear();
  for (const int32_t v : ball_) ball_before_.push_back(now_[v]);
  Prices prices = prices_;
  const double factor = LogUniform(0.4, 2.3, random_);
  for (double& price : prices) price *= factor;
  if (SearchBall(prices) && Keep(margin)) return true;
  for (size_t i = 0; i < ball_.size(); ++i) now_.Set(ball_[i], ball_before_[i]);
  return false;
}

int64_t Primal::Run(int64_t work, absl::FunctionRef<bool()> stop) {
  work_ = 0;
  if (!has_start_ || core_.nodes == 0) return 0;
  while (work_ < work && !stop()) {
    const int64_t before = best_cost_;
    Neighbourhood(margin_);
    margin_ *= 0.998;
    if (best_cost_ < before) margin_ = std::min(margin_ * 1.1, kWidestMargin);
    if (margin_ < kNarrowestMargin) {
      margin_ = kWidestMargin;
      if (!best_.empty()) now_.Assign(best_);
    }
  }
  return work_;
}

}  // namespace meshwright
