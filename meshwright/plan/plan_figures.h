// What plans take: predicted, measured, and the same of others.
#ifndef MESHWRIGHT_PLAN_PLAN_FIGURES_H_
#define MESHWRIGHT_PLAN_PLAN_FIGURES_H_

#include <cstdint>
#include <string>
#include <vector>

namespace meshwright {

// step_seconds = compute_seconds + exposed_comm_seconds + apply_seconds +
// bubble_seconds. With stages the terms are those of the rank that is busy
// longest, the first two of its micro-batches.
struct Prediction {
  double step_seconds = 0;
  double compute_seconds = 0;
  double comm_seconds = 0;
  double exposed_comm_seconds = 0;  // Not hidden under computation.
  double apply_seconds = 0;         // With stages: updating the weights.
  double bubble_seconds = 0;        // With stages: waiting for others.
  // The step as simulated from the candidate; 0 if that is not known.
  double search_seconds = 0;
  double comm_bytes = 0;   // Sent by a device per step.
  int64_t peak_bytes = 0;  // On a device.
  std::string origin;      // "assumed", "calibrated", "profiled"
};

// A mesh or number of micro-batches that was looked at.
struct Alternative {
  std::string mesh;
  int64_t micro_batches = 1;
  int32_t stages = 1;  // As many as ranks.
  std::string recompute = "none";
  double seconds = 0;   // As the search counts; 0 when it does not fit.
  double bound = 0;     // No plan there takes less.
  std::string why_not;  // Empty when it fits.
  // Of the program, as Prediction::step_seconds; 0 if none was written.
  double predicted_seconds = 0;
};

// Steps that were run to choose between plans.
struct Measurement {
  struct Other {
    std::string mesh;
    int64_t micro_batches = 1;
    std::string recompute;
    double predicted_seconds = 0;
    double step_seconds = 0;
  };

  double step_seconds = 0;    // Of this plan.
  std::vector<Other> others;  // Quickest first.
};

// Ops of one kind that every device computes whole, because no rule splits
// them, and what that costs in a step.
struct WholeOpCost {
  std::string target;       // "my_norm", of a custom call; else the opcode.
  std::string name;         // Of the first one, as users know it.
  double count = 0;         // Runs per step.
  double seconds = 0;       // On each device;
  double even_seconds = 0;  // the same, were they split over all devices.
  // All-gathers for their operands: sent by a device, and how long that takes.
  double gathered_bytes = 0;
  double gather_seconds = 0;
  std::string rule;    // For --rules; empty if none can be told.
  std::string advice;  // What would change it.

  // More than if they were split.
  double LostSeconds() const { return seconds - even_seconds + gather_seconds; }
};

}  // namespace meshwright

#endif  // MESHWRIGHT_PLAN_PLAN_FIGURES_H_
