// NumPy's .npy format: a header in Python syntax, then the elements.
//
//   "\x93NUMPY" 1 0  {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)}
#ifndef MESHWRIGHT_STATE_NPY_H_
#define MESHWRIGHT_STATE_NPY_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/state/read_bytes.h"
#include "meshwright/state/tensor.h"

namespace meshwright {

// The header of an .npy file.
struct NpyHeader {
  ElementType type = ElementType::kInvalid;  // kInvalid: raw (see Tensor).
  int64_t element_bytes = 0;
  bool big_endian = false;
  bool fortran_order = false;  // Column-major.
  std::vector<int64_t> dimensions;
  int64_t bytes = 0;  // Length of the header, at which the elements begin.
};

// Reads only the header of a file of `file_bytes` bytes, and checks that its
// shape agrees with `file_bytes`.
absl::StatusOr<NpyHeader> ReadNpyHeader(int64_t file_bytes, ReadBytes read);

// A nameless tensor from a file of `file_bytes` bytes, read in order. Nothing
// larger than the header is allocated before the header's shape and
// `file_bytes` are found to agree.
absl::StatusOr<Tensor> ReadNpy(int64_t file_bytes, ReadBytes read);

}  // namespace meshwright

#endif  // MESHWRIGHT_STATE_NPY_H_
