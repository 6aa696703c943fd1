// Compares a step as partitioned with the whole step on one device, from the
// same inputs: the outputs, their differences, and the effect of last-bit
// changes of the inputs.
#ifndef MESHWRIGHT_CLI_COMPARE_RUNS_H_
#define MESHWRIGHT_CLI_COMPARE_RUNS_H_

#include <cstdint>
#include <functional>
#include <memory>
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
  double tolerance = 0;  // If given, the noise floor is ignored.
};

struct RunComparison {
  std::vector<TensorError> tensors;  // By output.
  std::vector<double> seconds;       // By step, of the partitioned step.
  std::vector<double> whole_seconds;
  std::string remark;  // Other possible causes of a difference.

  // The tensor with the largest relative error among those whose verdict is not
  // unclear, if there are any; null if there are none.
  const TensorError* worst() const;
  double absolute() const;  // The largest of all.
  // Wrong if one tensor is wrong. Otherwise, as long as few elements and no
  // scalar (such as a loss) are unclear, the verdict on the others: gradients
  // that are zero up to rounding say nothing, and hide nothing about the rest.
  ErrorVerdict verdict() const;
  // The share of all elements in unclear tensors.
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

// Makes a runner of the whole step, compiled so that it adds up in another
// order. Without one, or if it fails, nudged inputs are all that tells noise.
using OtherOrder = std::function<absl::StatusOr<std::unique_ptr<Runner>>()>;

// `module` is what `whole` runs; `parts` has the same parameters and outputs.
// `other` is called if nudged inputs do not explain a difference.
absl::StatusOr<RunComparison> RunAndCompare(const Module& module, Runner& whole,
                                            Runner& parts,
                                            const ComparisonOptions& options,
                                            Progress& progress,
                                            const OtherOrder& other = nullptr);

}  // namespace meshwright

#endif  // MESHWRIGHT_CLI_COMPARE_RUNS_H_
