// The layout of a group of devices as JSON: an object with the keys "mesh",
// "strategies" and "moved".
#ifndef MESHWRIGHT_PLAN_LAYOUT_JSON_H_
#define MESHWRIGHT_PLAN_LAYOUT_JSON_H_

#include <nlohmann/json.hpp>

#include "absl/status/statusor.h"
#include "meshwright/plan/plan.h"

namespace meshwright {

nlohmann::ordered_json MeshJson(const Mesh& mesh);

// "strategies" and "moved" are needed to run a plan.
nlohmann::ordered_json LayoutJson(const PlannedLayout& layout,
                                  bool with_strategies);

// kInvalidArgument for wrong values; throws, as nlohmann does, for missing
// keys.
absl::StatusOr<PlannedLayout> ReadLayout(const nlohmann::ordered_json& json);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLAN_LAYOUT_JSON_H_
