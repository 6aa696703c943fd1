// What pins and annotations ask of the groups of a step.
//
// Ops that are pinned in different ways are in different groups (ModelStep), so
// that a pin concerns what it names, and nothing else.
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
  std::string name;   // Of the parameter, output or instruction,
  int32_t group = 0;  // and its group.
};
using GroupPins = std::map<int32_t, std::vector<GroupPin>>;  // By group.

// A pin on a state parameter is one on its next value too, and the other way
// round. kInvalidArgument, naming both, when one tensor is pinned in two ways.
absl::StatusOr<GroupPins> PinnedGroups(const StepModel& model,
                                       const Annotations& given,
                                       const Mesh& mesh);

// "[data, ?]"
std::string ToString(const Annotation& asked, const Mesh& mesh);

}  // namespace meshwright

#endif  // MESHWRIGHT_SEARCH_GROUP_PINS_H_
