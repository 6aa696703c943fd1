// NumPy's .npz format: a zip archive of .npy files, stored or deflated.
#ifndef MESHWRIGHT_STATE_NPZ_H_
#define MESHWRIGHT_STATE_NPZ_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "meshwright/state/tensor.h"

namespace meshwright {

// The arrays in the order of the archive's directory, named without ".npy".
// Checksums are checked. Memory is bounded by what the .npy headers declare,
// which must agree with the directory.
absl::StatusOr<std::vector<Tensor>> ParseNpz(absl::string_view bytes);

}  // namespace meshwright

#endif  // MESHWRIGHT_STATE_NPZ_H_
