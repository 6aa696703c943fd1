// The error of a tensor, and how much of it is rounding.
//
//   TensorError error = CompareTensors(want, got, {.tolerance = 2e-5});
//   error.AddNoise(want, nudged);   // The same step with inputs nudged.
//   error.verdict();                // kEqual, kRounding, kUnclear, kWrong
//
// An error is rounding if changing the inputs in their last bit (nudge.h)
// causes an error that is not much smaller. If both are large, the step is too
// ill-conditioned to distinguish rounding from a mistake.
#ifndef MESHWRIGHT_STATE_TENSOR_ERROR_H_
#define MESHWRIGHT_STATE_TENSOR_ERROR_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "meshwright/state/tensor.h"

namespace meshwright {

enum class ErrorVerdict {
  kEqual,     // Within the tolerance.
  kRounding,  // Small, and not much larger than the noise.
  kUnclear,   // Large, and not much larger than the noise; or NaN.
  kWrong,
};

// "equal", "rounding", "ill-conditioned", "wrong".
absl::string_view Name(ErrorVerdict verdict);

struct ErrorLimits {
  // Relative to an element's magnitude plus a tenth of the tensor's scale.
  double tolerance = 2e-5;
  // Relative to the scale: a larger error is never called rounding.
  double most_rounding = 1e-2;
  bool heeds_noise = true;
};

struct TensorError {
  std::string name;
  int64_t elements = 0;
  double scale = 0;  // The largest finite magnitude of the expected values.
  // The largest error; infinite where only one side is NaN.
  double absolute = 0;
  double noise = 0;    // The largest change by nudged inputs.
  int64_t nans = 0;    // Elements that are NaN on both sides.
  std::string beyond;  // The first element out of tolerance, in words.
  ErrorLimits limits;

  double relative() const { return ToScale(absolute); }
  double relative_noise() const { return ToScale(noise); }
  ErrorVerdict verdict() const;

  // Requires: tensors of the same shape.
  void AddNoise(const Tensor& want, const Tensor& nudged);

 private:
  double ToScale(double value) const;
};

// Requires: tensors of the same shape and name.
TensorError CompareTensors(const Tensor& want, const Tensor& got,
                           const ErrorLimits& limits);

}  // namespace meshwright

#endif  // MESHWRIGHT_STATE_TENSOR_ERROR_H_
