// Mixed-integer linear programs, solved by HiGHS.
//
//   Mip mip;
//   const int32_t x = mip.AddVariable({.cost = -3});   // 0 or 1
//   const int32_t y = mip.AddVariable({.cost = -2});
//   mip.AddRow({.upper = 1, .terms = {{x, 1}, {y, 1}}});
//   MW_ASSIGN_OR_RETURN(const MipAnswer answer, SolveMip(mip, {}));
//   answer.values;   // {1, 0}; answer.cost == answer.bound == -3
//
// HiGHS is a shared library that is loaded when first needed
// (docs/design/0008-highs.md).
#ifndef MESHWRIGHT_SOLVE_MIP_H_
#define MESHWRIGHT_SOLVE_MIP_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace meshwright {

inline constexpr double kMipInfinity = std::numeric_limits<double>::infinity();

struct MipVariable {
  double cost = 0;
  double lower = 0;
  double upper = 1;
  bool integer = true;
};

struct MipTerm {
  int32_t variable = 0;
  double factor = 0;
};

// lower <= sum of factor * variable <= upper. Each variable at most once.
struct MipRow {
  double lower = -kMipInfinity;
  double upper = kMipInfinity;
  std::vector<MipTerm> terms;
};

// Minimises the cost.
struct Mip {
  std::vector<MipVariable> variables;
  std::vector<MipRow> rows;

  int32_t AddVariable(const MipVariable& variable);
  void AddRow(MipRow row);
};

struct MipOptions {
  // With the same limits the answer is the same on any machine.
  int64_t node_limit = INT64_MAX;
  int64_t iteration_limit = INT64_MAX;  // Simplex iterations in total.
  // Polled occasionally. An answer stopped by a clock depends on the machine.
  std::function<bool()> stop = nullptr;
  // By variable, or empty: a starting point. It may violate rows.
  std::vector<double> initial;
  // Stops when cost - bound <= gap * cost.
  double gap = 0;
  int32_t seed = 0;
};

enum class MipEnd {
  kOptimal,     // Within `gap`.
  kInfeasible,  // No solution satisfies the rows.
  kStopped,     // By a limit.
};

struct MipAnswer {
  MipEnd end = MipEnd::kStopped;
  // The best solution found, integers rounded; empty if there is none. Rows
  // hold to about 10^-6.
  std::vector<double> values;
  double cost = kMipInfinity;
  // A lower bound in floating point, with a margin for HiGHS' rounding and
  // tolerances.
  double bound = -kMipInfinity;
  int64_t nodes = 0;
  int64_t iterations = 0;
};

// kUnavailable, saying where it was looked for, without HiGHS; kInvalidArgument
// for programs that HiGHS rejects. Runs on one thread; may be called from
// several.
absl::StatusOr<MipAnswer> SolveMip(const Mip& mip, const MipOptions& options);

// "HiGHS 1.15.1 (/path/libhighs.so.1)". Errors as SolveMip.
absl::StatusOr<std::string> DescribeMipSolver();

}  // namespace meshwright

#endif  // MESHWRIGHT_SOLVE_MIP_H_
