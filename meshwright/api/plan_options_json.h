// The options of a plan as JSON, named as the flags of `meshwright plan`.
//
//   PlanOptionsFromJson(R"({"strategy": "zero3", "mesh": {"data": 8},
//                           "micro-batches": 4, "memory": 64})",
//                       {.max_seconds = 600});
//
// It comes from other machines: nothing in it names a file of this one. A
// sharding file is given as what is in it ("pin": {"parameters": ...}).
#ifndef MESHWRIGHT_API_PLAN_OPTIONS_JSON_H_
#define MESHWRIGHT_API_PLAN_OPTIONS_JSON_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "meshwright/api/meshwright.h"

namespace meshwright {

struct PlanOptionsLimits {
  double max_seconds = 600;  // Of "time-limit".
};

// Nothing at all means nothing is asked for. Words may be joined by '_'
// instead of '-'. kInvalidArgument in a line that names the option, and for an
// unknown one the nearest that there is.
absl::StatusOr<api::PlanOptions> PlanOptionsFromJson(
    absl::string_view json, const PlanOptionsLimits& limits = {});

}  // namespace meshwright

#endif  // MESHWRIGHT_API_PLAN_OPTIONS_JSON_H_
