#include "meshwright/solve/dual.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "meshwright/solve/certify.h"

namespace meshwright {
namespace {

constexpr int kPassesPerStep = 3;
constexpr double kMomentum = 0.7;
constexpr double kSmallestStep = 0.003;
constexpr int kPatience = 10;

}  // namespace

DualStart FreshStart(const Core& core) {
  return {Prices(core.points(), 0.0), NoMessages(core)};
}

Dual::Dual(const Core& core, DualStart start, uint64_t seed)
    : core_(core),
      random_(seed),
      prices_(start.prices),
      messages_(start.messages),
      best_(std::move(start)),
      passes_(core, unary_),
      sweep_(core),
      all_nodes_(core.nodes),
      direction_(core.points(), 0.0),
      best_bound_(-static_cast<double>(kCoreInfinity)) {
  std::iota(all_nodes_.begin(), all_nodes_.end(), 0);
  PriceOptions(core_, prices_, unary_);
}

void Dual::Pass() {
  passes_.Forward(messages_);
  bound_ = passes_.Backward(messages_) - PriceOfCapacity(core_, prices_);
  if (bound_ <= best_bound_) return;
  if (bound_ > best_bound_ + 1e-5 * std::abs(best_bound_)) {
    since_gain_ = 0;
    steps_since_gain_ = 0;
  }
  best_bound_ = bound_;
  best_.prices = prices_;
  best_.messages = messages_;
}

int64_t Dual::Settle(int iterations) {
  for (int i = 0; i < iterations; ++i) Pass();
  return 2 * iterations * core_.work_per_pass;
}

int64_t Dual::Step(double upper) {
  ++steps_since_gain_;
  int64_t work = Settle(kPassesPerStep);
  passes_.Decode(messages_, candidate_);
  for (int i = 0; i < 3; ++i) {
    work += sweep_.Run(all_nodes_, unary_, random_, candidate_);
  }
  if (core_.points() == 0) return work;
  UsageOf(core_, candidate_, usage_);
  Move(upper);
  return work + PriceOptions(core_, prices_, unary_);
}

void Dual::Move(double upper) {
  if (++since_gain_ > kPatience) {
    step_ = std::max(kSmallestStep, step_ * 0.7);
    since_gain_ = 0;
  }
  double square = 0;
  for (int32_t p = 0; p < core_.points(); ++p) {
    const auto gradient = static_cast<double>(usage_[p] - core_.capacity[p]);
    direction_[p] = kMomentum * direction_[p] + (1 - kMomentum) * gradient;
    // What the projection would undo does not count.
    if (prices_[p] <= 0 && direction_[p] < 0) direction_[p] = 0;
    square += direction_[p] * direction_[p];
  }
  if (square <= 0) return;
  const double length = step_ * std::max(upper - bound_, 1.0) / square;
  for (int32_t p = 0; p < core_.points(); ++p) {
    prices_[p] = std::max(0.0, prices_[p] + length * direction_[p]);
  }
}

int64_t Dual::Certify() const {
  return CertifiedBound(core_, best_.prices, best_.messages);
}

std::vector<double> Dual::OptionSlack() const {
  std::vector<double> unary;
  PriceOptions(core_, best_.prices, unary);
  Passes passes(core_, unary);
  Messages messages = best_.messages;
  const double capacity = PriceOfCapacity(core_, best_.prices);
  // Far above what rounding can make of sums of this size.
  const double margin = 1e-9 * (std::abs(best_bound_) + capacity) + 1e-6;
  std::vector<double> slack;
  std::vector<double> most(core_.costs.size(), 0.0);
  constexpr int kRounds = 3;
  for (int round = 0; round < kRounds; ++round) {
    const double bound = passes.Forward(messages) - capacity;
    passes.BackwardWithSlack(messages, slack);
    for (size_t i = 0; i < slack.size(); ++i) {
      most[i] = std::max(most[i], bound + slack[i] - best_bound_ - margin);
    }
  }
  return most;
}

}  // namespace meshwright
