#include "meshwright/solve/core_search.h"

#include <algorithm>
#include <cmath>
#include <thread>

#include "meshwright/solve/core_mip.h"

namespace meshwright {
namespace {

// With less work than this, a round is over before a thread has started.
constexpr int64_t kWorkWorthAThread = 2'000'000;
constexpr int64_t kLongestRound = 30'000'000;

constexpr double kMuchLower = 0.7;
// Constructing and repairing an assignment takes long.
constexpr int kRoundsPerOffer = 4;
// The dual's prices are often at a point where one large item more or less
// fits; lower prices lead to assignments from the other side.
constexpr double kScales[] = {1, 0.85, 0.6, 0.95, 0.4, 0.75};

// Branching that takes longer than this does not converge; HiGHS, which has
// cuts for the capacities, may do better. Its simplex method is slow with many
// tables.
constexpr int64_t kPatience = 100'000'000;
constexpr int64_t kSmallForHighs = 10'000;
constexpr int64_t kIterationsOfHighs = 50'000;

}  // namespace

CoreSearch::CoreSearch(const Core& core, DualStart start, int64_t upper,
                       absl::Span<const int32_t> first,
                       const CoreSearchOptions& options)
    : core_(core),
      options_(options),
      dual_(core, std::move(start), options.seed),
      primal_(core, upper, options.seed + 1),
      prices_(dual_.prices()),
      upper_at_start_(upper) {
  primal_.SetPrices(prices_);
  if (first.empty()) return;
  Selection given(core);
  given.Assign(first);
  if (given.allowed() && given.cost() <= upper) {
    primal_.Adopt(first);
  } else {
    candidate_.assign(first.begin(), first.end());
  }
}

int64_t CoreSearch::DualRound(int64_t work, absl::FunctionRef<bool()> stop) {
  if (branching_ != nullptr) {
    const int64_t spent_branching = branching_->Run(work, stop);
    branching_work_ += spent_branching;
    return spent_branching;
  }
  int64_t spent = 0;
  while (spent < work && !stop()) spent += dual_.Step(aim_);
  if (wants_candidate_) {
    const int64_t turn = (rounds_ + 1) / kRoundsPerOffer;
    next_candidate_ =
        dual_.Candidate(kScales[turn % std::ssize(kScales)], &spent);
  }
  return spent;
}

int64_t CoreSearch::PrimalRound(int64_t work, absl::FunctionRef<bool()> stop) {
  int64_t spent = 0;
  if (!candidate_.empty()) spent += primal_.Offer(candidate_, stop);
  if (!primal_.has_start()) spent += primal_.FindFirst(1, stop);
  return spent + primal_.Run(work - spent, stop);
}

void CoreSearch::Round(int64_t work, absl::FunctionRef<bool()> stop) {
  // Without an assignment, the target is somewhat above the bound.
  const double bound = std::max(dual_.best_bound(), 0.0);
  aim_ = static_cast<double>(primal_.best_cost());
  if (primal_.best_cost() == kCoreInfinity) aim_ = 1.2 * bound + 1000;
  wants_candidate_ =
      !primal_.has_start() || (rounds_ + 1) % kRoundsPerOffer == 0;
  int64_t dual_spent = 0;
  int64_t primal_spent = 0;
  if (options_.threads > 1 && work >= kWorkWorthAThread) {
    std::thread other([&] { dual_spent = DualRound(work, stop); });
    primal_spent = PrimalRound(work, stop);
    other.join();
  } else {
    dual_spent = DualRound(work, stop);
    primal_spent = PrimalRound(work, stop);
  }
  ++rounds_;
  dual_work_ += dual_spent;
  work_ += dual_spent + primal_spent;
  if (branching_ == nullptr) {
    prices_ = dual_.prices();
    candidate_ = std::move(next_candidate_);
    next_candidate_.clear();
    primal_.SetPrices(prices_);
  } else {
    candidate_.clear();
    if (branching_->upper() < primal_.best_cost()) {
      primal_.Adopt(branching_->best());
    }
    branching_->SetUpper(primal_.best_cost());
  }
}

void CoreSearch::UpdateBound() {
  const double upper = static_cast<double>(primal_.best_cost());
  if (branching_ != nullptr) {
    bound_ = std::max(bound_, branching_->bound());
  } else if (dual_.best_bound() > upper - 0.99) {
    bound_ = std::max(bound_, dual_.Certify() - core_.constant);
  }
  bound_ = std::min(bound_, primal_.best_cost());
}

bool CoreSearch::WithinGap() const {
  const auto constant = static_cast<double>(core_.constant);
  return options_.gap > 0 &&
         static_cast<double>(primal_.best_cost()) + constant <=
             (1 + options_.gap) * (dual_.best_bound() + constant);
}

bool CoreSearch::FindUseless() {
  // With costs clamped at a much lower `upper`, the messages converge faster.
  if (!primal_.best().empty() &&
      static_cast<double>(primal_.best_cost()) <
          kMuchLower * static_cast<double>(upper_at_start_)) {
    useless_.assign(core_.costs.size(), 0);
    return true;
  }
  if (branching_ != nullptr || !primal_.has_start()) return false;
  const double gap =
      static_cast<double>(primal_.best_cost()) - dual_.best_bound();
  if (gap_at_last_look_ > 0 && gap > 0.8 * gap_at_last_look_) return false;
  gap_at_last_look_ = gap;
  const std::vector<double> slack = dual_.OptionSlack();
  work_ += 8 * core_.work_per_pass;
  useless_.assign(slack.size(), 0);
  int64_t count = 0;
  for (size_t i = 0; i < slack.size(); ++i) {
    useless_[i] = slack[i] > gap;
    count += useless_[i];
  }
  return count * 20 > std::ssize(slack);
}

bool CoreSearch::ShouldBranch() const {
  if (branching_ != nullptr) return false;
  const bool is_small = core_.work_per_pass < 300'000 && core_.nodes < 600;
  return is_small && dual_work_ > 400 * core_.work_per_pass + 20000 &&
         dual_.stalled();
}

bool CoreSearch::AskHighs(absl::FunctionRef<bool()> stop) {
  if (asked_highs_ || branching_work_ < kPatience ||
      core_.work_per_pass > kSmallForHighs || !primal_.has_start()) {
    return false;
  }
  asked_highs_ = true;
  const CoreMipAnswer answer = SolveCoreMip(
      core_, primal_.best(), primal_.best_cost(),
      {.iterations = kIterationsOfHighs, .stop = [&] { return stop(); }});
  // About as much as a pass over a sparse matrix of that size.
  work_ += answer.iterations * core_.work_per_pass;
  bound_of_highs_ = answer.bound;
  if (!answer.choice.empty()) {
    primal_.Adopt(answer.choice);
    branching_->SetUpper(answer.cost);
  }
  return bound_of_highs_ >= primal_.best_cost();
}

CoreSearchEnd CoreSearch::Run(absl::FunctionRef<bool()> stop) {
  const int64_t step = 10 * core_.work_per_pass;
  if (candidate_.empty() && !primal_.has_start()) {
    work_ += primal_.FindFirst(3, stop);
  }
  while (!stop() && work_ < options_.work_limit) {
    const int64_t work =
        std::clamp(work_ / 8, step, std::max(2 * step, kLongestRound));
    Round(std::min(work, options_.work_limit - work_), stop);
    UpdateBound();
    if (bound_ >= primal_.best_cost()) return CoreSearchEnd::kProved;
    if (WithinGap() || AskHighs(stop)) break;
    if (FindUseless()) return CoreSearchEnd::kSmaller;
    if (ShouldBranch()) {
      branching_ = std::make_unique<Branching>(
          core_, dual_.best(), primal_.best_cost(), options_.seed);
    }
  }
  return CoreSearchEnd::kStopped;
}

}  // namespace meshwright
