#include "meshwright/solve/dual.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "meshwright/solve/certify.h"

namespace meshwright {
namespace {

constexpr int kPassesPerStep = 3;
constexpr int kPassesPerCandidate = 4;
constexpr int kSweeps = 3;
constexpr double kMomentum = 0.7;
// Steps per attempt.
constexpr int kStepsOfTry = 8;
// The least decrease of the logarithm of the gap in one attempt.
constexpr double kSlowGain = 0.02;
constexpr double kSharper = 0.6;
constexpr double kSharpest = 2e-4;
constexpr double kLonger = 1.2;
constexpr double kShorter = 0.8;
constexpr double kSmallestStep = 0.01;

}  // namespace

DualStart FreshStart(const Core& core) {
  return {.prices = Prices(core.points(), 0.0), .messages = NoMessages(core)};
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
      best_bound_(-static_cast<double>(kCoreInfinity)),
      step_(best_.step),
      softness_(best_.softness) {
  std::iota(all_nodes_.begin(), all_nodes_.end(), 0);
  PriceOptions(core_, prices_, unary_);
}

void Dual::Pass() {
  passes_.Forward(messages_);
  bound_ = passes_.BackwardWithSlack(messages_, slack_) -
           PriceOfCapacity(core_, prices_);
  if (bound_ <= best_bound_) return;
  if (bound_ > best_bound_ + 1e-5 * std::abs(best_bound_)) {
    steps_since_gain_ = 0;
  }
  best_bound_ = bound_;
  best_.prices = prices_;
  best_.messages = messages_;
  best_.step = step_;
  best_.softness = softness_;
}

int64_t Dual::Settle(int iterations) {
  for (int i = 0; i < iterations; ++i) Pass();
  return 2 * iterations * core_.work_per_pass;
}

int64_t Dual::Step(double upper) {
  ++steps_since_gain_;
  const int64_t work = Settle(kPassesPerStep);
  if (core_.points() == 0) return work;
  Move(upper);
  return work + std::ssize(core_.usage) + PriceOptions(core_, prices_, unary_);
}

std::vector<int32_t> Dual::Candidate(double scale, int64_t* work) {
  Prices prices = best_.prices;
  for (double& price : prices) price *= scale;
  std::vector<double> unary;
  *work += PriceOptions(core_, prices, unary);
  Passes passes(core_, unary);
  Messages messages = best_.messages;
  for (int i = 0; i < kPassesPerCandidate; ++i) {
    passes.Forward(messages);
    passes.Backward(messages);
  }
  std::vector<int32_t> choice;
  passes.Decode(messages, choice);
  for (int i = 0; i < kSweeps; ++i) {
    *work += sweep_.Run(all_nodes_, unary, random_, choice);
  }
  *work += 2 * kPassesPerCandidate * core_.work_per_pass;
  return choice;
}

// Settings that made progress are kept. Otherwise they are undone and others
// tried: a lower smoothing temperature with shorter steps, and a high one again
// after the lowest.
void Dual::Tune(double gap) {
  const double rate = std::log(gap_before_ / gap);
  if (rate > kSlowGain) {
    step_ = std::min(step_ * kLonger, DualStart().step);
    return;
  }
  softness_ *= kSharper;
  step_ = std::max(step_ * kShorter, kSmallestStep);
  if (softness_ < kSharpest) softness_ = DualStart().softness;
  if (rate > 0) return;
  prices_ = best_.prices;
  messages_ = best_.messages;
  std::ranges::fill(direction_, 0.0);
  PriceOptions(core_, prices_, unary_);
  Pass();
}

void Dual::Move(double upper) {
  const double gap = std::max(upper - best_bound_, 1.0);
  if (++steps_ % kStepsOfTry == 0) {
    if (steps_ > kStepsOfTry) Tune(gap);
    gap_before_ = gap;
  }
  SoftUsage(core_, slack_, softness_ * gap, usage_);
  double square = 0;
  for (int32_t p = 0; p < core_.points(); ++p) {
    const double excess = usage_[p] - static_cast<double>(core_.capacity[p]);
    direction_[p] = kMomentum * direction_[p] + (1 - kMomentum) * excess;
    // Components that the projection would undo do not count.
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
  // Far above the possible rounding errors of sums of this size.
  const double margin = 1e-9 * (std::abs(best_bound_) + capacity) +
                        1e-12 * static_cast<double>(core_.largest_cost) + 1e-6;
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
