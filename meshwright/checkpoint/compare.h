// What two checkpoints hold differently.
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
  // Of tensors of one shape; bit for bit.
  int64_t elements = 0;  // That differ.
  double max_abs = 0;    // NaN where one of them is no number.
  double max_rel = 0;    // To the larger of the two.
};

struct Comparison {
  int64_t equal = 0;  // Tensors.
  std::vector<TensorDifference> different;
};

// A tensor at a time, each in one piece.
absl::StatusOr<Comparison> CompareCheckpoints(CheckpointReader& a,
                                              CheckpointReader& b);

}  // namespace meshwright

#endif  // MESHWRIGHT_CHECKPOINT_COMPARE_H_
