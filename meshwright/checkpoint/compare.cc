#include "meshwright/checkpoint/compare.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "meshwright/base/status_macros.h"
#include "meshwright/state/tensor.h"

namespace meshwright {
namespace {

// NaN is preserved.
double Larger(double a, double b) {
  return std::isnan(a) || std::isnan(b)
             ? std::numeric_limits<double>::quiet_NaN()
             : std::max(a, b);
}

void Count(const Tensor& a, const Tensor& b, TensorDifference& difference) {
  const int64_t element_bytes = HostBytes(a.type);
  const Literal one = AsLiteral(a);
  const Literal other = AsLiteral(b);
  for (int64_t i = 0; i * element_bytes < std::ssize(a.data); ++i) {
    if (std::memcmp(a.data.data() + i * element_bytes,
                    b.data.data() + i * element_bytes, element_bytes) == 0) {
      continue;
    }
    ++difference.elements;
    if (IsComplex(a.type)) continue;
    const double x = one.ElementAsDouble(i);
    const double y = other.ElementAsDouble(i);
    const double distance = std::abs(x - y);
    const double size = Larger(std::abs(x), std::abs(y));
    difference.max_abs = Larger(difference.max_abs, distance);
    difference.max_rel =
        Larger(difference.max_rel, size == 0 ? 0 : distance / size);
  }
}

}  // namespace

absl::StatusOr<Comparison> CompareCheckpoints(CheckpointReader& a,
                                              CheckpointReader& b) {
  Comparison comparison;
  for (const SavedTensor& one : a.manifest().tensors) {
    TensorDifference difference{.name = one.info.name,
                                .a = one.info.ShapeText()};
    const SavedTensor* const other = b.manifest().Find(one.info.name);
    if (other != nullptr) difference.b = other->info.ShapeText();
    if (difference.a != difference.b) {
      comparison.different.push_back(std::move(difference));
      continue;
    }
    MW_ASSIGN_OR_RETURN(const Tensor x, a.ReadTensor(one));
    MW_ASSIGN_OR_RETURN(const Tensor y, b.ReadTensor(*other));
    if (x.data == y.data) {
      ++comparison.equal;
      continue;
    }
    Count(x, y, difference);
    comparison.different.push_back(std::move(difference));
  }
  for (const SavedTensor& other : b.manifest().tensors) {
    if (a.manifest().Find(other.info.name) == nullptr) {
      comparison.different.push_back(
          {.name = other.info.name, .b = other.info.ShapeText()});
    }
  }
  return comparison;
}

}  // namespace meshwright
