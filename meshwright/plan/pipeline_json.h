// The pipeline of a plan as JSON.
#ifndef MESHWRIGHT_PLAN_PIPELINE_JSON_H_
#define MESHWRIGHT_PLAN_PIPELINE_JSON_H_

#include <nlohmann/json.hpp>

#include "absl/status/statusor.h"
#include "meshwright/plan/plan.h"

namespace meshwright {

nlohmann::ordered_json PipelineJson(const PlannedPipeline& pipeline);

// `layouts`: how many the plan has. kInvalidArgument for wrong values; throws,
// as nlohmann does, for missing keys.
absl::StatusOr<PlannedPipeline> ReadPipeline(const nlohmann::ordered_json& json,
                                             int64_t layouts);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLAN_PIPELINE_JSON_H_
