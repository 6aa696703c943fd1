// How a step is to run on a cluster: everything that was decided, what it is
// predicted to take, and how good it is. docs/formats.md describes the file.
#ifndef MESHWRIGHT_PLAN_PLAN_H_
#define MESHWRIGHT_PLAN_PLAN_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "meshwright/hlo/module.h"
#include "meshwright/mesh/mesh.h"
#include "meshwright/mesh/sharding.h"
#include "meshwright/plan/plan_figures.h"
#include "meshwright/rules/rule.h"

namespace meshwright {

struct PlannedTensor {
  std::string name;
  std::vector<int64_t> dimensions;
  std::string type;
  Sharding sharding;
  int32_t layout = 0;  // Of the devices that have it: Plan::layout.
};

// Collectives of one kind along the same axes on tensors of one size.
struct PlannedCollective {
  std::string kind;
  std::string axes;
  std::string tensor;
  int64_t devices = 1;
  int64_t bytes = 0;      // Of the operand on one device, each time.
  double wire_bytes = 0;  // Sent by a device, each time.
  double count = 1;       // Times per step.
};

// What the user asked for, beyond the strategy, the mesh and the numbers.
struct Steering {
  struct Pin {
    std::string what;  // "parameter", "output", "instruction"
    std::string name;
    std::string sharding;  // "?" where it is open.
  };

  std::vector<std::string> forbidden;  // "all-gather", "all-gather@data"
  std::string batch_axis;              // Empty: none was given.
  std::vector<Pin> pins;               // Annotations of the module too.
};

// How a group of devices shares the work of a step.
struct PlannedLayout {
  Mesh mesh;
  // By op of the flat graph of the step as it is planned (recomputing, looped
  // over its micro-batches).
  std::vector<Strategy> strategies;
  // By value of that graph: moved for each op that uses it; moved anew in each
  // iteration of the loop it is in. Ascending.
  std::vector<int64_t> moved_apart;
  std::vector<int64_t> moved_in_place;
};

// A pipeline. A rank is a group of devices, which have their numbers in the
// order of ranks; it has one stage or takes turns with several.
struct PlannedPipeline {
  // Seconds of a stage's programs for a micro-batch, and bytes on a device.
  struct Stage {
    double forward = 0;
    double input_grad = 0;
    double weight_grad = 0;
    double apply = 0;         // Once per step, with what comes before it.
    int64_t held_bytes = 0;   // From a micro-batch's forward to its backward;
    int64_t kept_bytes = 0;   // of them, between the two gradients.
    int64_t fixed_bytes = 0;  // All the time: state, sums, room to work;
    int64_t room_bytes = 0;   // of them, the room, which a rank's stages share.
    int64_t peak_bytes = 0;
  };
  // What goes from a stage to a later one, and back, in a micro-batch.
  struct Edge {
    int32_t from = 0;
    int32_t to = 1;
    double forward_seconds = 0;
    double backward_seconds = 0;
    int64_t forward_bytes = 0;
    int64_t backward_bytes = 0;
  };

  int32_t ranks = 1;
  // Where ranks are not all laid out as the plan says: by rank, 0 for that, i
  // for other_layouts[i - 1]. Both are empty when they are.
  std::vector<int32_t> layout_of_rank;
  std::vector<PlannedLayout> other_layouts;
  int32_t loop_pieces = 1;  // That loops over layers are cut into, about.
  std::string schedule;     // "1f1b"
  std::string timetable;    // CSV, a line per rank.
  // By instruction of the micro-batch program: its stage, if it is forward;
  // else -1.
  std::vector<int32_t> forward;
  std::vector<Stage> stages;
  std::vector<Edge> edges;
  // Weights are updated when all gradients are there: their norm counts.
  bool apply_after_all = false;
  double bubble_share = 0;
  double cut_gap =
      0;  // Bytes between stages, at most this part above the best.
};

// What is inherited is the layout of all devices or, in a pipeline, of the
// ranks that have no other.
struct Plan : PlannedLayout {
  explicit Plan(PlannedLayout layout) : PlannedLayout(std::move(layout)) {}

  std::string module_name;
  uint64_t fingerprint = 0;       // Of the module (Fingerprint).
  uint64_t step_fingerprint = 0;  // Of the step that strategies are for.
  std::string strategy = "auto";
  std::string cluster;       // JSON.
  std::string rates;         // JSON; what moving is priced with.
  int64_t memory_bytes = 0;  // That a device may use.
  Steering steering;
  int64_t micro_batches = 1;
  std::optional<PlannedPipeline> pipeline;  // None: one stage.
  std::string recompute = "none";           // What backward computes again.
  std::vector<PlannedTensor> parameters;
  std::vector<PlannedTensor> outputs;
  std::vector<PlannedCollective> collectives;
  Prediction predicted;
  std::optional<Measurement> measured;
  double gap = 0;  // At most this part above the best on this mesh.
  std::vector<Alternative> alternatives;  // Best first.
  std::vector<WholeOpCost> whole;         // Worst first.
  std::vector<std::string> notes;  // What a user should know, a line each.
  // How long planning took, by phase; not part of the file.
  std::map<std::string, double> seconds;

  int32_t stages() const {
    return pipeline.has_value() ? static_cast<int32_t>(pipeline->stages.size())
                                : 1;
  }
  // What devices of each rank hold all the time. Requires: stages, each with
  // its rank.
  std::vector<int64_t> FixedBytesOfRanks(
      absl::Span<const int> rank_of_stage) const;
  int32_t ranks() const { return pipeline.has_value() ? pipeline->ranks : 1; }
  // Layouts that ranks have: this one is the first.
  int32_t layout_count() const;
  const PlannedLayout& layout(int32_t index) const;
  int32_t LayoutOf(int32_t rank) const;
  int64_t device_count() const;
  std::string TextOf(const PlannedTensor& tensor) const;  // Of its sharding.
};

// A number that changes with anything a plan depends on.
uint64_t Fingerprint(const Module& module);

struct PlanJsonOptions {
  bool with_seconds = false;
  bool with_strategies = true;  // Needed to run it.
};
// One JSON object; the same plan gives the same bytes.
std::string ToJson(const Plan& plan, const PlanJsonOptions& options = {});

// kInvalidArgument in one line that names the culprit.
absl::StatusOr<Plan> ParsePlan(absl::string_view json);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLAN_PLAN_H_
