// How a step is to run on a cluster: everything that was decided, its predicted
// time and memory, and how good it is. docs/formats.md describes the file.
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
#include "meshwright/cost/rates.h"
#include "meshwright/hlo/module.h"
#include "meshwright/mesh/cluster.h"
#include "meshwright/mesh/mesh.h"
#include "meshwright/partition/forbidden.h"
#include "meshwright/plan/plan_figures.h"
#include "meshwright/plan/planned_tensors.h"
#include "meshwright/remat/recompute.h"
#include "meshwright/rules/rule.h"
#include "meshwright/schedule/schedule_kind.h"
#include "meshwright/schedule/timetable.h"
#include "meshwright/search/expert.h"

namespace meshwright {

enum class PinKind : uint8_t { kParameter, kOutput, kInstruction };
absl::string_view Name(PinKind kind);  // "parameter"

// The user's requests, other than the strategy, the mesh and the counts.
struct Steering {
  struct Pin {
    PinKind kind = PinKind::kParameter;
    std::string name;
    std::string sharding;  // "?" for dimensions that are open.
  };

  std::vector<Forbidden> forbidden;
  std::string batch_axis;  // Empty: not requested.
  std::vector<Pin> pins;   // Including annotations of the module.
};

// The strategy of one operation, known by its name (graph/op_names.h).
struct PlannedStrategy {
  std::string operation;
  Strategy strategy;

  bool operator==(const PlannedStrategy&) const = default;
};

// The strategies by which a group of devices shares the work of the planned
// step (with rematerialisation, looped over its micro-batches).
struct PlannedLayout {
  Mesh mesh;
  std::vector<PlannedStrategy> strategies;  // Of all live ops, in any order.
  // Names of values that are resharded for each user separately, or anew in
  // each iteration of their loop (see Sharing).
  std::vector<std::string> moved_apart;
  std::vector<std::string> moved_in_place;

  bool operator==(const PlannedLayout&) const = default;
};

// A pipeline. A rank is a group of devices with consecutive numbers, ranks in
// order; it runs one stage, or several in turn.
struct PlannedPipeline {
  // Seconds of a stage's programs per micro-batch, and bytes per device.
  struct Stage {
    double forward = 0;
    double input_grad = 0;
    double weight_grad = 0;
    double apply = 0;  // Once per step, including the programs before it.
    // Residuals, from the forward pass of a micro-batch to its backward pass;
    int64_t held_bytes = 0;
    int64_t kept_bytes = 0;  // those of them kept between the two gradients.
    // Held all the time: state, accumulators, temporaries;
    int64_t fixed_bytes = 0;
    // the temporaries among them, which stages of a rank share.
    int64_t room_bytes = 0;
    int64_t peak_bytes = 0;
    // The usable memory of its devices, relative to Plan::memory_bytes.
    double memory_times = 1;

    // Plan::memory_bytes that suffice for it.
    int64_t NeededBytes() const;
  };
  // What is sent from a stage to a later one, and back, per micro-batch.
  struct Edge {
    StageId from{0};
    StageId to{1};
    double forward_seconds = 0;
    double backward_seconds = 0;
    int64_t forward_bytes = 0;
    int64_t backward_bytes = 0;
  };

  // By rank: the index of its layout in Plan::layouts.
  std::vector<int32_t> layout_of_rank;
  // Into about how many pieces loops over layers are split.
  int32_t loop_pieces = 1;
  ScheduleKind schedule = ScheduleKind::k1F1B;
  Timetable timetable;
  // By stage: the names of the instructions of the micro-batch program that
  // make up its forward pass.
  std::vector<std::vector<std::string>> forward;
  std::vector<Stage> stages;
  std::vector<Edge> edges;
  // No weight is updated before all gradients are there, because of their norm.
  bool apply_after_all = false;
  double bubble_share = 0;
  // How far the bytes between stages can be above the best cut, as a part of
  // it.
  double cut_gap = 0;
};

struct Plan {
  explicit Plan(PlannedLayout layout) { layouts.push_back(std::move(layout)); }

  std::string module_name;
  uint64_t fingerprint = 0;       // Of the module (Fingerprint).
  uint64_t step_fingerprint = 0;  // Of the step that strategies are for.
  Expert strategy = Expert::kAuto;
  Cluster cluster;
  Rates rates;               // Of that cluster.
  int64_t memory_bytes = 0;  // Usable bytes of the smallest device.
  Steering steering;
  // Never empty; one, unless the ranks of a pipeline differ.
  std::vector<PlannedLayout> layouts;
  int64_t micro_batches = 1;
  std::optional<PlannedPipeline> pipeline;  // nullopt: not pipelined.
  Recompute recompute = Recompute::kNone;   // In the backward pass.
  // In how many blocks each micro-batch sorts its rows, or a divisor of so many
  // (MicroBatchOptions).
  int64_t row_blocks = 1;
  PlannedTensors tensors;
  std::vector<PlannedCollective> collectives;
  Prediction predicted;
  std::optional<Measurement> measured;
  // The optimality gap: at most this part above the best plan on this mesh.
  double gap = 0;
  std::vector<Alternative> alternatives;  // Best first.
  std::vector<WholeOpCost> whole;         // Most expensive first.
  std::vector<std::string> notes;         // For the user, one line each.
  // How long planning took, by phase; not part of the file.
  std::map<std::string, double> seconds;

  int32_t stages() const {
    return pipeline.has_value() ? static_cast<int32_t>(pipeline->stages.size())
                                : 1;
  }
  // What devices of each rank hold all the time. Requires: pipelined;
  // `rank_of_stage` has the rank of each stage.
  std::vector<int64_t> FixedBytesOfRanks(
      absl::Span<const int> rank_of_stage) const;
  // The `memory_bytes` that suffice for it: its peak, unless a stage's devices
  // have more memory than the smallest.
  int64_t NeededBytes() const;
  // By rank: usable bytes of its devices.
  std::vector<int64_t> MemoryOfRanks() const;
  int32_t ranks() const {
    return pipeline.has_value() ? pipeline->timetable.ranks() : 1;
  }
  // Of the first layout.
  const Mesh& mesh() const { return layouts.front().mesh; }
  const PlannedLayout& LayoutOf(int32_t rank) const;
  int64_t device_count() const;
  // Its sharding as text.
  std::string TextOf(const PlannedTensor& tensor) const;
};

// A hash of everything in a module that a plan depends on; the same for a
// module and its HLO text, and independent of source lines.
uint64_t Fingerprint(const Module& module);

struct PlanJsonOptions {
  bool with_seconds = false;
  bool with_strategies = true;  // Needed to run it.
};
// One JSON object; the same plan gives the same bytes.
std::string ToJson(const Plan& plan, const PlanJsonOptions& options = {});

// kInvalidArgument in one line that names the offending key.
absl::StatusOr<Plan> ParsePlan(absl::string_view json);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLAN_PLAN_H_
