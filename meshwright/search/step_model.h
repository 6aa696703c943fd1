// A training step as the search sees it: groups of equivalent ops, the values
// that pass between them, and what is in memory when. Made once for all meshes.
#ifndef MESHWRIGHT_SEARCH_STEP_MODEL_H_
#define MESHWRIGHT_SEARCH_STEP_MODEL_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "meshwright/analysis/flops.h"
#include "meshwright/analysis/roles.h"
#include "meshwright/annotations/annotations.h"
#include "meshwright/graph/flat_graph.h"
#include "meshwright/hlo/module.h"
#include "meshwright/mesh/mesh.h"
#include "meshwright/partition/assignment.h"
#include "meshwright/rules/rule.h"
#include "meshwright/search/op_groups.h"
#include "meshwright/search/traffic.h"

namespace meshwright {

// Of a result of every member of a group: its index in StepModel::values.
using GroupValueId = StrongId<struct GroupValueIdTag>;

// Result `result` of every member of a group.
struct GroupValue {
  GroupId group;
  int32_t result = 0;
  const Shape* shape = nullptr;
  // Materialised in memory; others are fused into their users.
  bool is_stored = false;
  // The share of a latency that its all-reduce takes if all that programs can
  // combine with it are: 1 if it is alone. The mean of the members.
  double latency_share = 1;
  // By memory point: of how many members the value is alive; and how many of
  // its resharded copies, shared by all users, would be.
  std::vector<float> alive;
  std::vector<float> copies_alive;
};

// A value that a loop reads but does not change, and that is needed after the
// loop. While the loop runs, its loop-carried copy counts as alive, and the
// value itself only if it has another sharding.
struct HeldValue {
  GroupValueId value;
  GroupValueId carried;  // The loop-carried value.
  // By memory point: how many such loops are running.
  std::vector<float> alive;
};

// Operand `operand` of group `user` is `value`; a group may use a value with
// several operands.
struct GroupUse {
  GroupValueId value;
  GroupId user;
  int32_t operand = 0;
  double weight = 0;  // Reshards per step, over all members.
};

enum class StateKind : uint8_t {
  kNone,
  kWeight,     // State that the loss depends on.
  kOptimizer,  // Other state.
  kData,       // New in every step.
};

struct StepModel {
  const Module* module = nullptr;
  ModuleRoles roles;
  FlatGraph graph;
  SharedRules rules;  // By op.
  OpGroups groups;
  std::vector<Work> work;  // By group: of one member, unsharded.
  StepTraffic traffic;
  std::vector<double> weights;  // By group: executions per step.
  std::vector<std::vector<GroupValueId>> group_values;  // By group and result.
  std::vector<GroupValue> values;
  // By group, of those with a workspace: by memory point, how many members run.
  std::vector<std::vector<float>> working;
  std::vector<HeldValue> held;
  std::vector<GroupUse> uses;    // By user, then operand.
  std::vector<StateKind> kinds;  // By group.
  // By group: for data, the dimension that is the batch's.
  std::vector<std::optional<int64_t>> batch_dims;
  // By group: whether partial sums may pay off to be passed on unreduced,
  // because a loop accumulates them.
  std::vector<bool> may_pend;
  // By leaf array of the entry's parameters: the parameter it is part of.
  std::vector<int32_t> parameter_of_leaf;
  // Pairs of a state parameter and its next value: groups, and ops.
  std::vector<std::pair<GroupId, GroupId>> state_pairs;
  std::vector<std::pair<OpId, OpId>> state_ops;
  int32_t points = 0;  // Memory points.

  const Rule& rule(GroupId group) const {
    return rules[groups.members[group][0]];
  }
  const FlatOp& op(GroupId group) const {
    return graph.ops[groups.members[group][0]];
  }
  const OpTraffic& traffic_of(GroupId group) const {
    return traffic.ops[groups.members[group][0]];
  }
};

// Pins and annotations, and the mesh whose axes they name.
struct MeshPins {
  Mesh mesh;
  Annotations given;
};

// Requires: `module` passed Verify, and outlives the model. Calls should be
// inlined before (InlineCalls), since nothing fuses through them. `pins` may be
// null; ops with different pins get different groups.
StepModel ModelStep(const Module& module, const FusionStyle& style,
                    const MeshPins* pins = nullptr);

// By leaf array of the entry's parameters: the parameter it is part of.
std::vector<int32_t> ParametersOfLeaves(const Module& module);

// State parameters and their next values.
std::vector<std::pair<OpId, OpId>> StateOps(const Module& module,
                                            const ModuleRoles& roles,
                                            const FlatGraph& graph);

// The name of the parameter that a leaf array is part of.
std::string ParameterName(const StepModel& model, size_t leaf);

}  // namespace meshwright

#endif  // MESHWRIGHT_SEARCH_STEP_MODEL_H_
