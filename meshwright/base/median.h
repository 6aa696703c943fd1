// The middle of some numbers; of two middle ones, the larger.
#ifndef MESHWRIGHT_BASE_MEDIAN_H_
#define MESHWRIGHT_BASE_MEDIAN_H_

#include <algorithm>
#include <vector>

namespace meshwright {

// Requires: at least one value.
inline double Median(std::vector<double> values) {
  const auto middle = values.begin() + std::ssize(values) / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace meshwright

#endif  // MESHWRIGHT_BASE_MEDIAN_H_
