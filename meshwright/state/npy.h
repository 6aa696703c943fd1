// NumPy's .npy format: a header in Python syntax, then the elements.
//
//   "\x93NUMPY" 1 0  {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)}
#ifndef MESHWRIGHT_STATE_NPY_H_
#define MESHWRIGHT_STATE_NPY_H_

#include <cstddef>
#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "meshwright/state/tensor.h"

namespace meshwright {

// Fills `size` bytes at `out` with what comes next in the file, or fails.
using ReadBytes = absl::FunctionRef<absl::Status(char* out, size_t size)>;

// A nameless tensor from a file of `file_bytes` bytes, read in order. Nothing
// larger than the header is allocated before the header's shape and
// `file_bytes` are found to agree.
absl::StatusOr<Tensor> ReadNpy(int64_t file_bytes, ReadBytes read);

}  // namespace meshwright

#endif  // MESHWRIGHT_STATE_NPY_H_
