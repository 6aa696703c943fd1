// An array by name, as jobs of api/meshwright.h take and give it.
#ifndef MESHWRIGHT_API_TENSOR_H_
#define MESHWRIGHT_API_TENSOR_H_

#include <cstdint>
#include <string>
#include <vector>

namespace meshwright::api {

// An array on the host: elements in row-major order, little-endian.
struct Tensor {
  std::string name;
  std::string type;  // "f32", "bf16", "s32"
  std::vector<int64_t> dimensions;
  std::string data;
};

}  // namespace meshwright::api

#endif  // MESHWRIGHT_API_TENSOR_H_
