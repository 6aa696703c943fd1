// Peak memory in what commands print: predicted and measured.
#ifndef MESHWRIGHT_CLI_REPORT_PEAK_H_
#define MESHWRIGHT_CLI_REPORT_PEAK_H_

#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "absl/status/status.h"
#include "meshwright/cli/command_line.h"
#include "meshwright/runtime/peak_memory.h"

namespace meshwright {

// Adds predicted_peak_bytes, of --plan; measured_peak_bytes and measured_by.
// Null if unknown.
absl::Status AddPeaks(const CommandLine& line,
                      const std::optional<PeakMemory>& measured,
                      nlohmann::ordered_json& json);

}  // namespace meshwright

#endif  // MESHWRIGHT_CLI_REPORT_PEAK_H_
