#include "meshwright/cli/report_peak.h"

#include <nlohmann/json.hpp>
#include <string>

#include "meshwright/api/load_plan.h"
#include "meshwright/base/status_macros.h"

namespace meshwright {

absl::Status AddPeaks(const CommandLine& line,
                      const std::optional<PeakMemory>& measured,
                      nlohmann::ordered_json& json) {
  json["predicted_peak_bytes"] = nullptr;
  if (line.Has("plan")) {
    MW_ASSIGN_OR_RETURN(const Plan plan, LoadPlan(line.Text("plan", "")));
    json["predicted_peak_bytes"] = plan.predicted.peak_bytes;
  }
  json["measured_peak_bytes"] = nullptr;
  json["measured_by"] = nullptr;
  if (measured.has_value()) {
    json["measured_peak_bytes"] = measured->bytes;
    json["measured_by"] = std::string(Name(measured->source));
  }
  return absl::OkStatus();
}

}  // namespace meshwright
