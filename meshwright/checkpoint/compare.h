// The differences of two checkpoints.
#ifndef MESHWRIGHT_CHECKPOINT_COMPARE_H_
#define MESHWRIGHT_CHECKPOINT_COMPARE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/checkpoint/reader.h"

namespace meshwright {

struct TensorDifference {
  std::string name;
  std::string a;  // "f32[2,3]"; empty: the first has no such tensor.
  std::string b;
  // For tensors of equal shape; bitwise.
  int64_t elements = 0;  // How many differ.
  double max_abs = 0;    // NaN if one of two values is NaN.
  double max_rel = 0;    // Relative to the larger of the two.
};

struct Comparison {
  int64_t equal = 0;  // Tensors.
  std::vector<TensorDifference> different;
};

// Reads one tensor at a time, whole.
absl::StatusOr<Comparison> CompareCheckpoints(CheckpointReader& a,
                                              CheckpointReader& b);

}  // namespace meshwright

#endif  // MESHWRIGHT_CHECKPOINT_COMPARE_H_
