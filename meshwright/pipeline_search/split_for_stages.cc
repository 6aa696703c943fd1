#include "meshwright/pipeline_search/split_for_stages.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "meshwright/analysis/direction.h"
#include "meshwright/analysis/flops.h"
#include "meshwright/annotations/name_pattern.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/hlo/inline_calls.h"
#include "meshwright/pipeline_search/loop_piece_policy.h"

namespace meshwright {
namespace {

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

// By name of a loop: the iterations that begin a piece.
using SplitPoints = std::map<std::string, std::vector<int64_t>>;

// Of forward loops, for this many stages.
SplitPoints ForwardPoints(const Module& module, int64_t loss, int32_t stages) {
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
  for (StageId stage{1}; stage < stages; ++stage) {
    boundaries.push_back(static_cast<double>(stage) / stages);
  }
  SplitPoints points;
  for (const auto& instruction : entry.instructions()) {
    if (instruction->opcode != Opcode::kWhile || !forward[instruction->id]) {
      continue;
    }
    const std::optional<CountedLoop> loop = AnalyzeLoop(*instruction);
    if (!loop.has_value()) continue;
    const Work done = work.Of(*instruction);
    const double share = (done.flops + done.transcendentals) / total;
    if (share * stages < kLoopPiecePolicy.boundary_tolerance) continue;
    const double begin = before[instruction->id] / total;
    std::vector<int64_t> at =
        PiecesOf(loop->count, begin, begin + share, boundaries,
                 kLoopPiecePolicy.boundary_tolerance / stages);
    if (!at.empty()) points[instruction->name] = std::move(at);
  }
  return points;
}

// The requested pieces, by forward loop.
absl::StatusOr<SplitPoints> AskedPoints(const Module& module, int64_t loss,
                                        const std::vector<LoopRange>& ranges) {
  const Computation& entry = *module.entry();
  const std::vector<bool> forward = NeededBy(entry, {loss});
  SplitPoints points;
  for (const auto& instruction : entry.instructions()) {
    if (instruction->opcode != Opcode::kWhile || !forward[instruction->id]) {
      continue;
    }
    const std::optional<CountedLoop> loop = AnalyzeLoop(*instruction);
    if (!loop.has_value()) continue;
    std::set<int64_t> at;
    for (const LoopRange& range : ranges) {
      if (!Matches(range.loop, instruction->name) &&
          !Matches(range.loop, instruction->metadata.op_name)) {
        continue;
      }
      if (range.begin < 0 || range.begin >= range.end ||
          range.end > loop->count) {
        return absl::InvalidArgumentError(absl::StrCat(
            "\"", PartName(range.loop, range.begin, range.end),
            "\": ", instruction->name, " has iterations 0 to ", loop->count));
      }
      at.insert({range.begin, range.end});
    }
    at.erase(0);
    at.erase(loop->count);
    if (!at.empty()) points[instruction->name] = {at.begin(), at.end()};
  }
  return points;
}

absl::StatusOr<std::optional<SplitStep>> SplitAt(const Module& flat,
                                                 const ModuleRoles& roles,
                                                 SplitPoints points) {
  if (points.empty()) return std::nullopt;
  LoopSplitOptions options{.at = std::move(points)};
  for (const ParameterInfo& parameter : roles.parameters) {
    options.may_split.push_back(parameter.role != ParameterRole::kData);
  }
  for (const StatePair& pair : roles.state_pairs) {
    options.state.push_back(
        {.parameter = pair.parameter, .output = pair.output});
  }
  MW_ASSIGN_OR_RETURN(SplitStep split, SplitLoops(flat, options));
  return split;
}

bool HasLoops(const Module& module) {
  return std::ranges::any_of(module.computations(), [](const auto& one) {
    return std::ranges::any_of(one->instructions(), [](const auto& inside) {
      return inside->opcode == Opcode::kWhile;
    });
  });
}

bool MaySplit(const Module& module, const ModuleRoles& roles) {
  return roles.loss.has_value() && HasArrayParameters(module) &&
         HasLoops(module);
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

absl::StatusOr<std::optional<SplitStep>> SplitLoopsForStages(
    const Module& module, const ModuleRoles& roles, int32_t stages) {
  if (!MaySplit(module, roles)) return std::nullopt;
  const Module flat = InlineCalls(module);
  if (!HasFlatRoot(flat)) return std::nullopt;
  return SplitAt(flat, roles, ForwardPoints(flat, *roles.loss, stages));
}

std::optional<LoopRange> ParseLoopRange(absl::string_view text) {
  const size_t bracket = text.rfind('[');
  if (bracket == absl::string_view::npos || text.back() != ']') {
    return std::nullopt;
  }
  LoopRange range{.loop = std::string(text.substr(0, bracket))};
  text.remove_prefix(bracket + 1);
  text.remove_suffix(1);
  const std::pair<absl::string_view, absl::string_view> ends =
      absl::StrSplit(text, absl::MaxSplits(':', 1));
  if (!absl::SimpleAtoi(ends.first, &range.begin) ||
      !absl::SimpleAtoi(ends.second, &range.end)) {
    return std::nullopt;
  }
  return range;
}

absl::StatusOr<std::optional<SplitStep>> SplitLoopsAt(
    const Module& module, const ModuleRoles& roles,
    const std::vector<LoopRange>& ranges) {
  if (!MaySplit(module, roles) || ranges.empty()) return std::nullopt;
  const Module flat = InlineCalls(module);
  if (!HasFlatRoot(flat)) return std::nullopt;
  MW_ASSIGN_OR_RETURN(SplitPoints points,
                      AskedPoints(flat, *roles.loss, ranges));
  return SplitAt(flat, roles, std::move(points));
}

}  // namespace meshwright
