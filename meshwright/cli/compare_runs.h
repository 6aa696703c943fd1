// A step that runs whole and in parts, from the same inputs: what comes out,
// how far apart it is, and how far last-bit changes of the inputs move it.
#ifndef MESHWRIGHT_CLI_COMPARE_RUNS_H_
#define MESHWRIGHT_CLI_COMPARE_RUNS_H_

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "meshwright/base/progress.h"
#include "meshwright/hlo/module.h"
#include "meshwright/runtime/runner.h"
#include "meshwright/state/tensor_error.h"

namespace meshwright {

struct ComparisonOptions {
  int64_t steps = 3;
  uint64_t seed = 0;     // Of the inputs.
  double tolerance = 0;  // If given, noise is no excuse.
};

struct RunComparison {
  std::vector<TensorError> tensors;  // By output.
  std::vector<double> seconds;       // By step, in parts.
  std::vector<double> whole_seconds;
  std::string remark;  // What else may be the cause.

  // The one with the largest error, by its scale, of those that are not
  // unclear, if there are such; null if there are none.
  const TensorError* worst() const;
  double absolute() const;  // The largest of all.
  // Wrong if one of them is. Else, as long as few elements and no scalar, such
  // as a loss, are unclear, what the others say: gradients that are zero but
  // for rounding tell nothing, and hide nothing of the rest.
  ErrorVerdict verdict() const;
  // The part of all elements that is in unclear tensors.
  double unclear() const;
  bool ok() const { return verdict() <= ErrorVerdict::kRounding; }
  // kInternal unless ok(): the first tensor at fault.
  absl::Status status() const;

  // "equal after 3 steps on 8 devices (data=8): largest error ...", and a line
  // for errors that are rounding, one for what is unclear.
  std::string ToString(const ComparisonOptions& options, int64_t devices,
                       absl::string_view how) const;
  // ok, verdict, max_abs_error, max_rel_error, worst, noise_floor, unclear,
  // tensors.
  nlohmann::ordered_json ToJson() const;
};

// How many steps RunAndCompare reports to `progress`.
int64_t ComparedSteps(const ComparisonOptions& options);

// `module` is what `whole` runs; `parts` has the same parameters and outputs.
absl::StatusOr<RunComparison> RunAndCompare(const Module& module, Runner& whole,
                                            Runner& parts,
                                            const ComparisonOptions& options,
                                            Progress& progress);

}  // namespace meshwright

#endif  // MESHWRIGHT_CLI_COMPARE_RUNS_H_
