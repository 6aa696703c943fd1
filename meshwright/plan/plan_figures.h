// Figures of plans: predicted, of collectives, measured, and those of
// alternatives.
#ifndef MESHWRIGHT_PLAN_PLAN_FIGURES_H_
#define MESHWRIGHT_PLAN_PLAN_FIGURES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "meshwright/cost/rates.h"
#include "meshwright/hlo/opcode.h"
#include "meshwright/remat/recompute.h"

namespace meshwright {

// step_seconds = compute_seconds + exposed_comm_seconds + apply_seconds +
// bubble_seconds. In a pipeline the terms are those of the bottleneck rank, the
// first two of its micro-batches.
struct Prediction {
  double step_seconds = 0;
  double compute_seconds = 0;
  double comm_seconds = 0;
  double exposed_comm_seconds = 0;  // Not overlapped with computation.
  double apply_seconds = 0;         // Of a pipeline: the optimizer update.
  double bubble_seconds = 0;        // Of a pipeline: waiting for other ranks.
  // The step time as estimated before lowering; 0 if not known.
  double search_seconds = 0;
  double comm_bytes = 0;             // Sent by a device per step.
  int64_t peak_bytes = 0;            // Per device.
  Origin origin = Origin::kAssumed;  // Of the rates: the worst of them.
};

// Collectives of one kind along the same axes on tensors of one size.
struct PlannedCollective {
  Opcode kind = Opcode::kUnknown;
  std::string axes;  // "(data,model)"; "-" between arbitrary pairs.
  std::string tensor;
  int64_t devices = 1;
  int64_t bytes = 0;      // Per execution, of the operand on one device.
  double wire_bytes = 0;  // Per execution, sent by a device.
  double count = 1;       // Executions per step.
};

// A mesh or number of micro-batches that was tried.
struct Alternative {
  std::string mesh;
  int64_t micro_batches = 1;
  int32_t stages = 1;  // Equal to the number of ranks.
  Recompute recompute = Recompute::kNone;
  double seconds = 0;   // As estimated before lowering; 0 if it does not fit.
  double bound = 0;     // No plan in this setting takes less.
  std::string why_not;  // Empty if it fits.
  // Of the lowered program, as Prediction::step_seconds; 0 if it was not
  // lowered.
  double predicted_seconds = 0;
};

// Steps that were run to choose between plans (--measure).
struct Measurement {
  struct Other {
    std::string mesh;
    int64_t micro_batches = 1;
    Recompute recompute = Recompute::kNone;
    double predicted_seconds = 0;
    double step_seconds = 0;
  };

  double step_seconds = 0;    // Of this plan.
  std::vector<Other> others;  // Fastest first.
};

// Ops of one kind that every device computes whole because they have no
// sharding rule, and what that costs in a step.
struct WholeOpCost {
  std::string target;  // "my_norm" for a custom call; otherwise the opcode.
  std::string name;    // Of the first one, as displayed to users.
  double count = 0;    // Executions per step.
  double seconds = 0;  // On each device;
  double even_seconds = 0;  // the same if they were split over all devices.
  // All-gathers of their operands: bytes sent by a device, and their time.
  double gathered_bytes = 0;
  double gather_seconds = 0;
  std::string rule;    // For --rules; empty if none can be suggested.
  std::string advice;  // What the user can do about it.

  // Compared with splitting them.
  double LostSeconds() const { return seconds - even_seconds + gather_seconds; }
};

}  // namespace meshwright

#endif  // MESHWRIGHT_PLAN_PLAN_FIGURES_H_
