// What pins and annotations require of the groups of a step.
//
// Ops with different pins are in different groups (ModelStep), so that a pin
// affects what it names and nothing else.
#ifndef MESHWRIGHT_SEARCH_GROUP_PINS_H_
#define MESHWRIGHT_SEARCH_GROUP_PINS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/annotations/annotations.h"
#include "meshwright/mesh/mesh.h"
#include "meshwright/search/step_model.h"

namespace meshwright {

struct GroupPin {
  int32_t tensor = 0;  // As in TensorPin: operands first.
  Annotation asked;
  std::string name;  // Of the pinned parameter, output or instruction;
  GroupId group;     // the group it is in.
};
using GroupPins = std::map<GroupId, std::vector<GroupPin>>;  // By group.

// A pin on a state parameter also pins its next value, and vice versa.
// kInvalidArgument, naming both pins, when one tensor is pinned in two ways.
absl::StatusOr<GroupPins> PinnedGroups(const StepModel& model,
                                       const Annotations& given,
                                       const Mesh& mesh);

// "[data, ?]"
std::string ToString(const Annotation& asked, const Mesh& mesh);

}  // namespace meshwright

#endif  // MESHWRIGHT_SEARCH_GROUP_PINS_H_
