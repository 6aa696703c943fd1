// Plan options as JSON, with the names of `meshwright plan`'s flags.
//
//   PlanOptionsFromJson(R"({"strategy": "zero3", "mesh": {"data": 8},
//                           "micro-batches": 4, "memory": 64})",
//                       {.max_seconds = 600});
//
// Since it comes from other machines, nothing in it names a file of this one: a
// sharding file is given by its contents ("pin": {"parameters": ...}).
#ifndef MESHWRIGHT_API_PLAN_OPTIONS_JSON_H_
#define MESHWRIGHT_API_PLAN_OPTIONS_JSON_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "meshwright/api/meshwright.h"

namespace meshwright {

struct PlanOptionsLimits {
  double max_seconds = 600;  // Upper limit of "time-limit".
};

// Empty text: no options. Words may be joined by '_' instead of '-'.
// kInvalidArgument in one line that names the option and, for an unknown one,
// the most similar known one.
absl::StatusOr<api::PlanOptions> PlanOptionsFromJson(
    absl::string_view json, const PlanOptionsLimits& limits = {});

}  // namespace meshwright

#endif  // MESHWRIGHT_API_PLAN_OPTIONS_JSON_H_
