// A training step as the search sees it: groups of alike ops, the values that
// pass between them, and what is in memory when. Made once, for all meshes.
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
#include "meshwright/search/alike_ops.h"
#include "meshwright/search/traffic.h"

namespace meshwright {

// A value of every member of a group: result `result`.
struct GroupValue {
  int32_t group = 0;
  int32_t result = 0;
  const Shape* shape = nullptr;
  // Written to memory; others are computed within what uses them.
  bool is_stored = false;
  // By memory point: how many members' values are alive; and how many copies,
  // moved for all that use them, would be.
  std::vector<float> alive;
  std::vector<float> copies_alive;
};

// A loop only reads a value that is needed after it. While it runs, what it
// carries counts as alive, and the value only if that lies in another way.
struct HeldValue {
  int32_t value = 0;         // Into StepModel::values, as the next.
  int32_t carried = 0;       // What the loop carries.
  std::vector<float> alive;  // By memory point: how many such loops run.
};

// Operand `operand` of group `user` is `value`; the same pair may occur with
// several operands.
struct GroupUse {
  int32_t value = 0;  // Into StepModel::values.
  int32_t user = 0;
  int32_t operand = 0;
  double weight = 0;  // Moves per step, over all members.
};

enum class StateKind : uint8_t {
  kNone,
  kWeight,     // State that the loss depends on.
  kOptimizer,  // Other state.
  kData,       // What every step gets anew.
};

struct StepModel {
  const Module* module = nullptr;
  ModuleRoles roles;
  FlatGraph graph;
  SharedRules rules;  // By op.
  AlikeOps alike;
  std::vector<Work> work;  // By group: of one member, unsplit.
  StepTraffic traffic;
  std::vector<double> weights;                     // By group: runs per step.
  std::vector<std::vector<int32_t>> group_values;  // By group and result.
  std::vector<GroupValue> values;
  std::vector<HeldValue> held;
  std::vector<GroupUse> uses;    // By user, then operand.
  std::vector<StateKind> kinds;  // By group.
  // By group: of data, the dimension that is the batch's.
  std::vector<std::optional<int64_t>> batch_dims;
  // By group: partial sums may be worth passing on unreduced, since a loop adds
  // to them.
  std::vector<bool> may_pend;
  // By leaf array of the entry's parameters: the parameter it belongs to.
  std::vector<int32_t> parameter_of_leaf;
  // Groups of a state parameter and of its next value, and the ops.
  std::vector<std::pair<int32_t, int32_t>> state_pairs;
  std::vector<std::pair<OpId, OpId>> state_ops;
  int32_t points = 0;  // Moments at which memory is looked at.

  const Rule& rule(int32_t group) const {
    return rules[alike.members[group][0]];
  }
  const FlatOp& op(int32_t group) const {
    return graph.ops[alike.members[group][0]];
  }
  const OpTraffic& traffic_of(int32_t group) const {
    return traffic.ops[alike.members[group][0]];
  }
};

// Pins and annotations, and the mesh that they are about.
struct MeshPins {
  Mesh mesh;
  Annotations given;
};

// Requires: passed Verify; outlives the model. Best without calls, through
// which nothing fuses (InlineCalls). Of `pins`, which may be null, ops that are
// pinned in different ways get different groups.
StepModel ModelStep(const Module& module, const FusionStyle& style,
                    const MeshPins* pins = nullptr);

// By leaf array of the entry's parameters: the parameter it belongs to.
std::vector<int32_t> ParametersOfLeaves(const Module& module);

// State parameters and their next values.
std::vector<std::pair<OpId, OpId>> StateOps(const Module& module,
                                            const ModuleRoles& roles,
                                            const FlatGraph& graph);

// Of the parameter that a leaf of the entry's parameters belongs to.
std::string ParameterName(const StepModel& model, size_t leaf);

// Whether a factor is contracted, as of a dot.
bool IsContraction(const Rule& rule);

}  // namespace meshwright

#endif  // MESHWRIGHT_SEARCH_STEP_MODEL_H_
