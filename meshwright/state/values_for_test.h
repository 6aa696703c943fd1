// Test support: the values of a tensor, of any type.
#ifndef MESHWRIGHT_STATE_VALUES_FOR_TEST_H_
#define MESHWRIGHT_STATE_VALUES_FOR_TEST_H_

#include <cstdint>
#include <vector>

#include "meshwright/state/tensor.h"

namespace meshwright {

inline std::vector<double> ValuesOf(const Tensor& tensor) {
  const Literal literal = AsLiteral(tensor);
  std::vector<double> values;
  for (int64_t i = 0; i < ElementCount(literal.shape); ++i) {
    values.push_back(literal.ElementAsDouble(i));
  }
  return values;
}

}  // namespace meshwright

#endif  // MESHWRIGHT_STATE_VALUES_FOR_TEST_H_
