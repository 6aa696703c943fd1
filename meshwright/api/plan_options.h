// What api::MakePlan is asked for.
#ifndef MESHWRIGHT_API_PLAN_OPTIONS_H_
#define MESHWRIGHT_API_PLAN_OPTIONS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace meshwright::api {

// Requirements on a plan; whatever is not set is decided. As `meshwright plan
// --help`.
struct PlanOptions {
  std::string strategy = "auto";
  std::optional<std::string> mesh;  // "data=4,model=2"
  std::optional<int64_t> micro_batches;
  std::optional<int32_t> stages;
  std::optional<std::string> schedule;
  std::string recompute = "auto";
  std::optional<int64_t> memory_bytes;  // Per device.
  std::optional<std::string> forbid;    // "all-gather,all-to-all@data"
  std::string batch_axis;
  std::optional<std::string> pins;  // A sharding file.
  // The contents of one, instead of a path.
  std::optional<std::string> pins_text;
  bool require_rules = false;           // Refuse ops without a sharding rule.
  std::optional<std::string> database;  // Of calibrated rates.
  bool assumed = false;                 // Do not use calibrated rates.
  double time_limit_seconds = 60;
  // Of the run; planning takes no longer than it gains in it.
  std::optional<int64_t> steps;
  uint64_t seed = 1;
  // Called while planning proceeds.
  std::function<void(std::string_view)> report;
};

}  // namespace meshwright::api

#endif  // MESHWRIGHT_API_PLAN_OPTIONS_H_
