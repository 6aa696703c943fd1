// Searches a core from both sides: a dual that raises the bound and a primal
// that lowers the cost, in rounds, each round on two threads.
//
// The roles meet only between rounds, and a round is a fixed amount of work; so
// what is found depends on no clock. One thread runs the roles one after the
// other and finds the same.
#ifndef MESHWRIGHT_SOLVE_CORE_SEARCH_H_
#define MESHWRIGHT_SOLVE_CORE_SEARCH_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/functional/function_ref.h"
#include "meshwright/solve/branching.h"
#include "meshwright/solve/core.h"
#include "meshwright/solve/dual.h"
#include "meshwright/solve/primal.h"

namespace meshwright {

struct CoreSearchOptions {
  uint64_t seed = 1;
  int threads = 2;
  int64_t work_limit = INT64_MAX;
  double gap = 0;
};

enum class CoreSearchEnd {
  kProved,   // bound() has reached upper(): nothing is cheaper.
  kStopped,  // By a limit, or within the gap.
  kSmaller,  // Many options or high costs turned out useless: reduce again.
};

class CoreSearch {
 public:
  // Costs here are without `core.constant`. Looks for assignments cheaper than
  // `upper`, from the choice `first` (which may be bad) when there is one.
  CoreSearch(const Core& core, DualStart start, int64_t upper,
             absl::Span<const int32_t> first, const CoreSearchOptions& options);

  CoreSearchEnd Run(absl::FunctionRef<bool()> stop);

  int64_t work() const { return work_; }
  int64_t upper() const { return primal_.best_cost(); }
  // Cheaper than `upper`; empty when nothing was.
  const std::vector<int32_t>& best() const { return primal_.best(); }
  // Nothing cheaper than upper() costs less than this; checked in integers. Set
  // when the search proved something; dual().Certify() may be better.
  int64_t bound() const { return bound_; }
  // The same by HiGHS, in doubles; below upper(): it proves nothing.
  int64_t bound_of_highs() const {
    return std::min(bound_of_highs_, upper() - 1);
  }
  const Dual& dual() const { return dual_; }
  // By option of all nodes: nothing cheaper than upper() takes it.
  const std::vector<char>& useless() const { return useless_; }

 private:
  int64_t DualRound(int64_t work, absl::FunctionRef<bool()> stop);
  int64_t PrimalRound(int64_t work, absl::FunctionRef<bool()> stop);
  void Round(int64_t work, absl::FunctionRef<bool()> stop);
  void UpdateBound();
  bool FindUseless();
  bool ShouldBranch() const;
  // Asks HiGHS, once. True: nothing more is to be found here.
  bool AskHighs(absl::FunctionRef<bool()> stop);
  bool WithinGap() const;

  const Core& core_;
  CoreSearchOptions options_;
  Dual dual_;
  Primal primal_;
  std::unique_ptr<Branching> branching_;
  Prices prices_;                   // What the primal works with this round.
  std::vector<int32_t> candidate_;  // What it starts this round with.
  std::vector<int32_t> next_candidate_;  // What the dual found this round.
  bool wants_candidate_ = false;         // Whether the dual shall look for one.
  double aim_ = 0;                       // What the dual aims for this round.
  int64_t upper_at_start_;
  int64_t bound_ = 0;
  int64_t bound_of_highs_ = 0;
  bool asked_highs_ = false;
  int64_t branching_work_ = 0;
  int64_t work_ = 0;
  int64_t dual_work_ = 0;
  int64_t rounds_ = 0;
  double gap_at_last_look_ = 0;
  std::vector<char> useless_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_SOLVE_CORE_SEARCH_H_
