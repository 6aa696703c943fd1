// What pins and annotations ask of the groups of a step.
#ifndef MESHWRIGHT_PLANNER_PINNED_GROUPS_H_
#define MESHWRIGHT_PLANNER_PINNED_GROUPS_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "meshwright/mesh/mesh.h"
#include "meshwright/mesh/sharding.h"
#include "meshwright/partition/annotations.h"
#include "meshwright/search/step_model.h"

namespace meshwright {

struct Pin {
  std::string name;  // Of the parameter, output or instruction.
  const Annotation* asked = nullptr;
};

// By group. Where several members of a group are pinned, the last one counts;
// CheckPins sees to it that they agree. `pins` outlives the result.
std::map<int32_t, Pin> PinnedGroups(const StepModel& model,
                                    const Annotations& pins);

// kInvalidArgument, naming both, when a state parameter and its next value, or
// two members of a group, are pinned to lie in different ways.
absl::Status CheckPins(const StepModel& model, const Annotations& pins,
                       const Mesh& mesh);

// Of a leaf of the entry's parameters; empty within a tuple.
std::string ParameterName(const StepModel& model, size_t leaf);

bool Satisfies(const Sharding& sharding, const Annotation& asked);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLANNER_PINNED_GROUPS_H_
