// How far a tensor is from what it should be, and how much of it is rounding.
//
//   TensorError error = CompareTensors(want, got, {.tolerance = 2e-5});
//   error.AddNoise(want, nudged);   // The same step with inputs nudged.
//   error.verdict();                // kEqual, kRounding, kUnclear, kWrong
//
// An error is rounding if changing the inputs in their last bit (nudge.h) makes
// one that is not much smaller. Where both are large, what the step computes is
// no ground to tell rounding from a mistake.
#ifndef MESHWRIGHT_STATE_TENSOR_ERROR_H_
#define MESHWRIGHT_STATE_TENSOR_ERROR_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "meshwright/state/tensor.h"

namespace meshwright {

enum class ErrorVerdict {
  kEqual,     // Within the tolerance.
  kRounding,  // Small, and not much more than the noise.
  kUnclear,   // Large, and not much more than the noise; or not a number.
  kWrong,
};

// "equal", "rounding", "ill-conditioned", "wrong".
absl::string_view Name(ErrorVerdict verdict);

struct ErrorLimits {
  // Of an element's magnitude plus a tenth of the tensor's scale.
  double tolerance = 2e-5;
  // Of the scale: more than this is never called rounding.
  double most_rounding = 1e-2;
  bool heeds_noise = true;
};

struct TensorError {
  std::string name;
  int64_t elements = 0;
  double scale = 0;     // The largest finite magnitude that was wanted.
  double absolute = 0;  // The largest error; infinite for numbers beside none.
  double noise = 0;     // The largest that nudged inputs made.
  int64_t nans = 0;     // Elements that are no numbers on either side.
  std::string beyond;   // What is out of tolerance first, in words.
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
