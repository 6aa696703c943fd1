// Where loops are split for stages: every threshold, with its reason. Not a
// part of the planner's policy: plans are for the step with these pieces, which
// it is split into anew whenever one is loaded.
#ifndef MESHWRIGHT_PIPELINE_SEARCH_LOOP_PIECE_POLICY_H_
#define MESHWRIGHT_PIPELINE_SEARCH_LOOP_PIECE_POLICY_H_

namespace meshwright {

struct LoopPiecePolicy {
  // Relative to a stage's work: how far from its position a boundary inside a
  // loop may be, and the least work of a loop that is split at all.
  double boundary_tolerance = 0.05;
};
inline constexpr LoopPiecePolicy kLoopPiecePolicy;

}  // namespace meshwright

#endif  // MESHWRIGHT_PIPELINE_SEARCH_LOOP_PIECE_POLICY_H_
