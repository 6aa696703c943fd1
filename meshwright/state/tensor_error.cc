#include "meshwright/state/tensor_error.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_format.h"

namespace meshwright {
namespace {

// Errors from another order of summation are up to a few times as large as
// those from nudged inputs, since more of them accumulate.
constexpr double kNoiseFactor = 8;

double Difference(double a, double b) {
  if (a == b || (std::isnan(a) && std::isnan(b))) return 0;
  const double difference = std::abs(a - b);
  return std::isfinite(difference) ? difference
                                   : std::numeric_limits<double>::infinity();
}

}  // namespace

absl::string_view Name(ErrorVerdict verdict) {
  switch (verdict) {
    case ErrorVerdict::kEqual:
      return "equal";
    case ErrorVerdict::kRounding:
      return "rounding";
    case ErrorVerdict::kUnclear:
      return "ill-conditioned";
    case ErrorVerdict::kWrong:
      break;
  }
  return "wrong";
}

double TensorError::ToScale(double value) const {
  if (value == 0) return 0;
  return scale > 0 ? value / scale : 1;
}

ErrorVerdict TensorError::verdict() const {
  if (beyond.empty()) {
    return nans == 0 ? ErrorVerdict::kEqual : ErrorVerdict::kUnclear;
  }
  if (!limits.heeds_noise || !(absolute <= kNoiseFactor * noise)) {
    return ErrorVerdict::kWrong;
  }
  return absolute <= limits.most_rounding * scale ? ErrorVerdict::kRounding
                                                  : ErrorVerdict::kUnclear;
}

void TensorError::AddNoise(const Tensor& want, const Tensor& nudged) {
  const Literal a = AsLiteral(want);
  const Literal b = AsLiteral(nudged);
  for (int64_t i = 0; i < ElementCount(a.shape); ++i) {
    noise =
        std::max(noise, Difference(a.ElementAsDouble(i), b.ElementAsDouble(i)));
  }
}

TensorError CompareTensors(const Tensor& want, const Tensor& got,
                           const ErrorLimits& limits) {
  const Literal a = AsLiteral(want);
  const Literal b = AsLiteral(got);
  const int64_t count = ElementCount(a.shape);
  TensorError error{.name = want.name, .elements = count, .limits = limits};
  for (int64_t i = 0; i < count; ++i) {
    const double value = std::abs(a.ElementAsDouble(i));
    if (std::isfinite(value)) error.scale = std::max(error.scale, value);
  }
  for (int64_t i = 0; i < count; ++i) {
    const double x = a.ElementAsDouble(i);
    const double y = b.ElementAsDouble(i);
    const double difference = Difference(x, y);
    error.nans += std::isnan(x) && std::isnan(y);
    error.absolute = std::max(error.absolute, difference);
    const double tolerated =
        limits.tolerance * (std::abs(x) + 0.1 * error.scale);
    if (difference == 0 || difference <= tolerated || !error.beyond.empty()) {
      continue;
    }
    error.beyond = absl::StrFormat("%s: element %d is %g, on one device %g",
                                   want.name, i, y, x);
  }
  return error;
}

}  // namespace meshwright
