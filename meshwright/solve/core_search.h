// Searches a core from both sides: a dual that raises the lower bound and a
// primal that lowers the cost, in rounds, each on two threads.
//
// The two interact only between rounds, and a round is a fixed amount of work,
// so that the result does not depend on timing. A single thread runs them one
// after the other with the same result.
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
  // Many options or high costs turned out to be useless: reduce again.
  kSmaller,
};

class CoreSearch {
 public:
  // Costs here exclude `core.constant`. Searches for assignments cheaper than
  // `upper`, starting from the choice `first` (which may be poor) if there is
  // one.
  CoreSearch(const Core& core, DualStart start, int64_t upper,
             absl::Span<const int32_t> first, const CoreSearchOptions& options);

  CoreSearchEnd Run(absl::FunctionRef<bool()> stop);

  int64_t work() const { return work_; }
  int64_t upper() const { return primal_.best_cost(); }
  // Cheaper than `upper`; empty if none was found.
  const std::vector<int32_t>& best() const { return primal_.best(); }
  // A lower bound on what is cheaper than upper(), verified in integers. Set
  // when the search proved something; dual().Certify() may be better.
  int64_t bound() const { return bound_; }
  // The lower bound by HiGHS, in floating point; kept below upper(), since it
  // is not a proof.
  int64_t bound_of_highs() const {
    return std::min(bound_of_highs_, upper() - 1);
  }
  const Dual& dual() const { return dual_; }
  // By option of all nodes: no assignment cheaper than upper() has it.
  const std::vector<char>& useless() const { return useless_; }

 private:
  int64_t DualRound(int64_t work, absl::FunctionRef<bool()> stop);
  int64_t PrimalRound(int64_t work, absl::FunctionRef<bool()> stop);
  void Round(int64_t work, absl::FunctionRef<bool()> stop);
  void UpdateBound();
  bool FindUseless();
  bool ShouldBranch() const;
  // Runs HiGHS, once. True: nothing cheaper remains to be found here.
  bool AskHighs(absl::FunctionRef<bool()> stop);
  bool WithinGap() const;

  const Core& core_;
  CoreSearchOptions options_;
  Dual dual_;
  Primal primal_;
  std::unique_ptr<Branching> branching_;
  Prices prices_;  // The primal's prices in this round.
  // The primal's starting point in this round.
  std::vector<int32_t> candidate_;
  std::vector<int32_t> next_candidate_;  // What the dual found in this round.
  bool wants_candidate_ = false;  // Whether the dual should look for one.
  double aim_ = 0;                // The dual's target cost in this round.
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
