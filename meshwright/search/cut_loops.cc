#include "meshwright/search/cut_loops.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "meshwright/analysis/direction.h"
#include "meshwright/analysis/flops.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/hlo/inline_calls.h"

namespace meshwright {
namespace {

// Of a stage's work: how far from its place a boundary may be, and the least
// that a loop must be to be cut at all.
constexpr double kTolerance = 0.05;

bool HasFlatRoot(const Module& module) {
  const Instruction& root = *module.entry()->root();
  return root.opcode == Opcode::kTuple &&
         std::ranges::all_of(root.shape.tuple_shapes, &Shape::IsArray);
}

bool HasArrayParameters(const Module& module) {
  return std::ranges::all_of(
      module.entry()->Parameters(),
      [](const Instruction* parameter) { return parameter->shape.IsArray(); });
}

// For each forward loop the iterations that begin a piece.
std::map<std::string, std::vector<int64_t>> ForwardCuts(const Module& module,
                                                        int64_t loss,
                                                        int32_t stages) {
  const Computation& entry = *module.entry();
  const std::vector<bool> forward = NeededBy(entry, {loss});
  const ModuleWork work(module);
  double total = 0;
  std::vector<double> before(entry.size());
  for (const auto& instruction : entry.instructions()) {
    before[instruction->id] = total;
    if (!forward[instruction->id]) continue;
    const Work done = work.Of(*instruction);
    total += done.flops + done.transcendentals;
  }
  std::vector<double> boundaries;
  for (int32_t stage = 1; stage < stages; ++stage) {
    boundaries.push_back(static_cast<double>(stage) / stages);
  }
  std::map<std::string, std::vector<int64_t>> cuts;
  for (const auto& instruction : entry.instructions()) {
    if (instruction->opcode != Opcode::kWhile || !forward[instruction->id]) {
      continue;
    }
    const std::optional<CountedLoop> loop = AnalyzeLoop(*instruction);
    if (!loop.has_value()) continue;
    const Work done = work.Of(*instruction);
    const double share = (done.flops + done.transcendentals) / total;
    if (share * stages < kTolerance) continue;
    const double begin = before[instruction->id] / total;
    std::vector<int64_t> at = PiecesOf(loop->count, begin, begin + share,
                                       boundaries, kTolerance / stages);
    if (!at.empty()) cuts[instruction->name] = std::move(at);
  }
  return cuts;
}

}  // namespace

std::vector<int64_t> PiecesOf(int64_t count, double begin, double end,
                              absl::Span<const double> boundaries,
                              double tolerance) {
  const double iteration = (end - begin) / static_cast<double>(count);
  std::set<int64_t> at;
  for (const double boundary : boundaries) {
    const double place = (boundary - begin) / iteration;
    if (place <= 0 || place >= static_cast<double>(count)) continue;
    const double nearest = std::round(place);
    if (std::abs(place - nearest) * iteration <= tolerance) {
      at.insert(static_cast<int64_t>(nearest));
    } else {
      at.insert(static_cast<int64_t>(std::floor(place)));
      at.insert(static_cast<int64_t>(std::ceil(place)));
    }
  }
  at.erase(0);
  at.erase(count);
  return {at.begin(), at.end()};
}

absl::StatusOr<std::optional<SplitStep>> CutLoops(const Module& module,
                                                  const ModuleRoles& roles,
                                                  int32_t stages) {
  if (!roles.loss.has_value() || !HasArrayParameters(module)) {
    return std::nullopt;
  }
  const Module flat = InlineCalls(module);
  if (!HasFlatRoot(flat)) return std::nullopt;
  LoopSplitOptions options{.at = ForwardCuts(flat, *roles.loss, stages)};
  if (options.at.empty()) return std::nullopt;
  for (const ParameterInfo& parameter : roles.parameters) {
    options.may_cut.push_back(parameter.role != ParameterRole::kData);
  }
  for (const StatePair& pair : roles.state_pairs) {
    options.state.push_back(
        {.parameter = pair.parameter, .output = pair.output});
  }
  MW_ASSIGN_OR_RETURN(SplitStep split, SplitLoops(flat, options));
  return split;
}

}  // namespace meshwright
