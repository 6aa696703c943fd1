#include "meshwright/schedule/pipeline.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "meshwright/base/status_macros.h"

namespace meshwright {
namespace {

// Limit on actions of one kind, so that timetables fit in memory.
constexpr int64_t kMaxActions = int64_t{1} << 24;

bool IsDuration(double seconds) {
  return std::isfinite(seconds) && seconds >= 0;
}

absl::Status CheckStage(const StageCost& cost, size_t stage) {
  if (!IsDuration(cost.forward) || !IsDuration(cost.input_grad) ||
      !IsDuration(cost.weight_grad) || !IsDuration(cost.apply) ||
      !IsDuration(cost.BackwardSeconds())) {
    return absl::InvalidArgumentError(
        absl::StrCat("stage ", stage, ": a duration is negative or no number"));
  }
  if (cost.held_bytes < 0 || cost.KeptBytes() < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("stage ", stage, " holds a negative number of bytes"));
  }
  return absl::OkStatus();
}

absl::Status CheckEdge(const StageEdge& edge, int stages) {
  if (edge.from < 0 || edge.from >= edge.to || edge.to >= stages) {
    return absl::InvalidArgumentError(absl::StrCat(
        "values flow from stage ", int{edge.from}, " to ", int{edge.to},
        ": must be an earlier and a later one of ", stages));
  }
  if (!IsDuration(edge.forward_seconds) || !IsDuration(edge.backward_seconds)) {
    return absl::InvalidArgumentError(
        absl::StrCat("from stage ", int{edge.from}, " to ", int{edge.to},
                     ": a duration is negative or no number"));
  }
  return absl::OkStatus();
}

}  // namespace

double StageCost::BackwardSeconds() const {
  return backward.value_or(input_grad + weight_grad);
}

double StageCost::Seconds(ActionKind kind) const {
  switch (kind) {
    case ActionKind::kForward:
      return forward;
    case ActionKind::kInputGrad:
      return input_grad;
    case ActionKind::kWeightGrad:
      return weight_grad;
    case ActionKind::kBackward:
      return BackwardSeconds();
    case ActionKind::kApply:
      return apply;
    default:
      return 0;
  }
}

std::vector<StageEdge> ChainEdges(int stages, double seconds, int64_t bytes) {
  std::vector<StageEdge> edges;
  for (StageId stage{0}; stage + 1 < stages; ++stage) {
    edges.push_back({.from = stage,
                     .to = stage + 1,
                     .forward_seconds = seconds,
                     .backward_seconds = seconds,
                     .forward_bytes = bytes,
                     .backward_bytes = bytes});
  }
  return edges;
}

PipelineCosts EvenCosts(int stages, const StageCost& stage,
                        double transfer_seconds) {
  PipelineCosts costs;
  costs.stages.assign(static_cast<size_t>(stages), stage);
  costs.edges = ChainEdges(stages, transfer_seconds);
  return costs;
}

absl::Status CheckShape(const PipelineShape& shape) {
  if (shape.stages < 1 || shape.ranks < 1 || shape.micro_batches < 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a pipeline has at least one stage, device and micro-batch, not ",
        shape.stages, ", ", shape.ranks, " and ", shape.micro_batches));
  }
  if (shape.stages < shape.ranks) {
    return absl::InvalidArgumentError(
        absl::StrCat(shape.stages, " stages on ", shape.ranks,
                     " devices leave a device without a stage"));
  }
  if (int64_t{shape.stages} * shape.micro_batches > kMaxActions) {
    return absl::InvalidArgumentError(absl::StrCat(
        shape.stages, " stages times ", shape.micro_batches,
        " micro-batches are more than ", kMaxActions, " forwards"));
  }
  if (shape.rank_of_stage.empty()) return absl::OkStatus();
  if (std::ssize(shape.rank_of_stage) != shape.stages) {
    return absl::InvalidArgumentError(
        absl::StrCat("devices of ", shape.rank_of_stage.size(),
                     " stages are given, but there are ", shape.stages));
  }
  for (StageId stage{0}; stage < shape.stages; ++stage) {
    const int rank = shape.rank_of_stage[stage];
    if (rank < 0 || rank >= shape.ranks) {
      return absl::InvalidArgumentError(absl::StrCat(
          "stage ", int{stage}, " is on device ", rank, " of ", shape.ranks));
    }
  }
  std::vector<bool> used(static_cast<size_t>(shape.ranks));
  for (const int rank : shape.rank_of_stage) used[rank] = true;
  for (int rank = 0; rank < shape.ranks; ++rank) {
    if (!used[rank]) {
      return absl::InvalidArgumentError(
          absl::StrCat("no stage is on device ", rank));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckCosts(const PipelineCosts& costs, int stages, int ranks) {
  if (std::ssize(costs.stages) != stages) {
    return absl::InvalidArgumentError(
        absl::StrCat("costs of ", costs.stages.size(),
                     " stages are given, but there are ", stages));
  }
  for (size_t stage = 0; stage < costs.stages.size(); ++stage) {
    MW_RETURN_IF_ERROR(CheckStage(costs.stages[stage], stage));
  }
  std::set<std::pair<int, int>> seen;
  for (const StageEdge& edge : costs.edges) {
    MW_RETURN_IF_ERROR(CheckEdge(edge, stages));
    if (!seen.insert({edge.from, edge.to}).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("what flows from stage ", int{edge.from}, " to ",
                       int{edge.to}, " is given twice"));
    }
  }
  if (!costs.memory_bytes.empty() && std::ssize(costs.memory_bytes) != ranks) {
    return absl::InvalidArgumentError(
        absl::StrCat("memory of ", costs.memory_bytes.size(),
                     " devices is given, but there are ", ranks));
  }
  return absl::OkStatus();
}

}  // namespace meshwright
