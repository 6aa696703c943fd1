// The input of scheduling: stages on ranks, micro-batches, and their costs.
//
// A rank is a group of devices that does one thing at a time; it has a row in
// the timetable. Stages are numbered in the order in which values flow; a rank
// may hold several.
//
//   PipelineShape shape = {.stages = 8, .ranks = 4, .micro_batches = 12};
//   PipelineCosts costs = EvenCosts(8, {.forward = 0.5, .input_grad = 0.5,
//                                       .weight_grad = 0.5});
#ifndef MESHWRIGHT_SCHEDULE_PIPELINE_H_
#define MESHWRIGHT_SCHEDULE_PIPELINE_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "meshwright/schedule/action.h"

namespace meshwright {

struct PipelineShape {
  int stages = 1;
  int ranks = 1;
  int micro_batches = 1;
  // By stage; empty: the schedule's own placement.
  std::vector<int> rank_of_stage;
};

// Seconds of a stage's programs for one micro-batch, and the bytes that it
// holds.
struct StageCost {
  double forward = 0;
  double input_grad = 0;
  double weight_grad = 0;
  std::optional<double> backward;  // Both in one; default: their sum.
  double apply = 0;                // Once per step.
  int64_t held_bytes = 0;          // From the start of forward to backward.
  // Between I and W, instead of held_bytes: what remains of these, plus what I
  // computed for W (with rematerialisation that may be more). Default: all of
  // them.
  std::optional<int64_t> kept_bytes;

  double Seconds(ActionKind kind) const;
  double BackwardSeconds() const;
  int64_t KeptBytes() const { return kept_bytes.value_or(held_bytes); }
  // By how much a backward action (I followed by W) exceeds what is held
  // before.
  int64_t MoreInBackward() const {
    return std::max<int64_t>(0, KeptBytes() - held_bytes);
  }
};

// Values flow from stage `from` to a later stage `to`, and their gradients
// back. Nothing is sent if both are on one rank.
struct StageEdge {
  StageId from{0};
  StageId to{1};
  double forward_seconds = 0;
  double backward_seconds = 0;
  int64_t forward_bytes = 0;
  int64_t backward_bytes = 0;
};

struct PipelineCosts {
  std::vector<StageCost> stages;
  std::vector<StageEdge> edges;  // In simple cases the chain 0 -> 1 -> ...
  // Every stage applies only when all gradients are available (for their norm).
  bool apply_after_all = false;
  // Limits on what stages hold, by rank; empty: unlimited.
  std::vector<int64_t> memory_bytes;
};

// 0 -> 1, 1 -> 2, ...
std::vector<StageEdge> ChainEdges(int stages, double seconds = 0,
                                  int64_t bytes = 0);
// Equal stages in a chain.
PipelineCosts EvenCosts(int stages, const StageCost& stage,
                        double transfer_seconds = 0);

// kInvalidArgument in one line for a shape or costs that are meaningless.
absl::Status CheckShape(const PipelineShape& shape);
absl::Status CheckCosts(const PipelineCosts& costs, int stages, int ranks);

}  // namespace meshwright

#endif  // MESHWRIGHT_SCHEDULE_PIPELINE_H_
