// meshwright solve: runs only the solver, on problems of the IOPDDL contest.
#include "meshwright/solve/solve.h"

#include <nlohmann/json.hpp>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "meshwright/api/file_kind.h"
#include "meshwright/base/file.h"
#include "meshwright/base/progress.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/base/stopwatch.h"
#include "meshwright/cli/commands.h"
#include "meshwright/hlo/compression.h"
#include "meshwright/solve/iopddl.h"

namespace meshwright {
namespace {

using Json = nlohmann::ordered_json;

// Time reserved for writing the answer.
constexpr double kReserveSeconds = 0.5;

const CommandSpec& SolveSpec() {
  static const auto* const spec = new CommandSpec{
      .name = "solve",
      .summary = "choose one option per node of an IOPDDL problem",
      .positional = {"PROBLEM.json"},
      .flags = {{"time-limit", "S", "seconds, reading included (default 60)"},
                {"work-limit", "W", "cells touched; the same answer anywhere"},
                {"seed", "N", "of the search (default 1)"},
                {"threads", "T", "1 or 2 (default 2)"},
                {"json", "", "one JSON object on stdout"}}};
  return *spec;
}

absl::StatusOr<double> TimeLimit(const CommandLine& line) {
  const std::string text = line.Text("time-limit", "60");
  double seconds = 0;
  if (!absl::SimpleAtod(text, &seconds) || !(seconds > 0 && seconds <= 1e6)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--time-limit: \"", text,
                     "\" is no number of seconds above 0, at most 1000000"));
  }
  return seconds;
}

absl::StatusOr<Problem> Load(const std::string& path) {
  MW_ASSIGN_OR_RETURN(std::string bytes, ReadFile(path, kMaxModuleBytes));
  if (DetectCompression(bytes) != Compression::kNone) {
    absl::StatusOr<std::string> plain = Decompress(bytes);
    if (!plain.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": ", plain.status().message()));
    }
    bytes = *std::move(plain);
  }
  absl::StatusOr<Problem> problem = ReadIopddl(bytes);
  if (problem.ok()) return problem;
  return ExplainContent(absl::InvalidArgumentError(problem.status().message()),
                        path, bytes, FileKind::kProblem);
}

double Gap(const Solution& solution) {
  return solution.cost == solution.lower_bound
             ? 0
             : static_cast<double>(solution.cost - solution.lower_bound) /
                   static_cast<double>(
                       std::max<int64_t>(solution.lower_bound, 1));
}

void Print(const Problem& problem, const Solution& solution, double seconds) {
  const Evaluation evaluation = Evaluate(problem, solution.assignment);
  absl::PrintF("problem      %s: %d nodes, %d edges\n", problem.name,
               problem.nodes.size(), problem.edges.size());
  absl::PrintF("reduced to   %d nodes, %d points in time\n",
               solution.core_nodes, solution.core_points);
  absl::PrintF("cost         %d\n", solution.cost);
  absl::PrintF("lower bound  %d\n", solution.lower_bound);
  if (solution.proved_optimal) {
    absl::PrintF("             optimal\n");
  } else {
    absl::PrintF("             within %.4g %% of optimal\n",
                 100 * Gap(solution));
  }
  absl::PrintF("peak usage   %d", evaluation.peak_usage);
  if (!problem.limits.empty()) {
    absl::PrintF(" of %d", problem.limits[0].limit);
  }
  absl::PrintF("\ntime         %.2f s\n", seconds);
}

absl::Status RunSolve(const CommandLine& line) {
  const Stopwatch watch;
  SolveOptions options;
  MW_ASSIGN_OR_RETURN(const double limit, TimeLimit(line));
  MW_ASSIGN_OR_RETURN(options.work_limit,
                      line.Integer("work-limit", INT64_MAX, {1, INT64_MAX}));
  MW_ASSIGN_OR_RETURN(const int64_t seed,
                      line.Integer("seed", 1, {0, INT64_MAX}));
  options.seed = static_cast<uint64_t>(seed);
  MW_ASSIGN_OR_RETURN(const int64_t threads,
                      line.Integer("threads", 2, {1, 2}));
  options.threads = static_cast<int>(threads);
  const Progress progress("solving");
  MW_ASSIGN_OR_RETURN(const Problem problem, Load(line.positional(0)));
  options.time_limit_seconds = std::max(
      0.0, limit - watch.seconds() - std::min(kReserveSeconds, 0.2 * limit));
  MW_ASSIGN_OR_RETURN(const Solution solution, Solve(problem, options));
  if (!line.Has("json")) {
    Print(problem, solution, watch.seconds());
    return absl::OkStatus();
  }
  const Json json = {{"cost", solution.cost},
                     {"lower_bound", solution.lower_bound},
                     {"gap", Gap(solution)},
                     {"proved_optimal", solution.proved_optimal},
                     {"seconds", watch.seconds()},
                     {"work", solution.work},
                     {"core_nodes", solution.core_nodes},
                     {"core_points", solution.core_points},
                     {"assignment", solution.assignment}};
  absl::PrintF("%s\n", json.dump());
  return absl::OkStatus();
}

}  // namespace

extern const Command kSolveCommand = {&SolveSpec, &RunSolve};

}  // namespace meshwright
