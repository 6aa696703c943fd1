// The roles of a training step's parameters and outputs.
//
//   step(w, x) -> (w', loss), w donated:
//   parameters  w state, x data
//   outputs     w state, out/1 loss
//   loss 1, state_pairs {(0, 0)}: output 0 is parameter 0 of the next step
//
// Sources, best first: what the Python front end recorded (frontend attributes
// mw.name and mw.role of parameters, mw.outputs and mw.loss of the module);
// input-output aliases, which make state; without these, nothing is state.
#ifndef MESHWRIGHT_ANALYSIS_ROLES_H_
#define MESHWRIGHT_ANALYSIS_ROLES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "meshwright/hlo/module.h"

namespace meshwright {

enum class ParameterRole {
  kState,     // Replaced by an output after every step.
  kData,      // New in every step.
  kConstant,  // The same every step.
};

enum class OutputRole { kState, kLoss, kMetric };

// "state", "data", "constant"; "state", "loss", "metric".
absl::string_view Name(ParameterRole role);
absl::string_view Name(OutputRole role);

struct ParameterInfo {
  std::string name;  // Unique among parameters.
  ParameterRole role = ParameterRole::kData;

  bool operator==(const ParameterInfo&) const = default;
};

struct OutputInfo {
  std::string name;  // Unique among outputs.
  OutputRole role = OutputRole::kMetric;

  bool operator==(const OutputInfo&) const = default;
};

// Output `output` is the next value of `parameter`; their shapes are equal.
struct StatePair {
  int64_t parameter = 0;
  int64_t output = 0;

  bool operator==(const StatePair&) const = default;
};

struct ModuleRoles {
  std::vector<ParameterInfo> parameters;  // By parameter number.
  std::vector<OutputInfo> outputs;        // By leaf of the entry's root.
  std::optional<int64_t> loss;            // Index into outputs.
  // One for each state parameter, in parameter order; no output twice.
  std::vector<StatePair> state_pairs;
  // Recorded facts that contradict the module and were ignored, one line each.
  std::vector<std::string> warnings;
};

// Without recorded names, parameters are named by metadata op_name, then the
// entry layout's names, then the instruction; outputs `out/INDEX`. Without a
// recorded loss, it is the first floating-point scalar output that is not
// state. Requires: the module passed Verify.
ModuleRoles AnalyzeRoles(const Module& module);

}  // namespace meshwright

#endif  // MESHWRIGHT_ANALYSIS_ROLES_H_
