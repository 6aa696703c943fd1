// Files of tensors: NumPy's .npz and .npy, and safetensors.
//
//   MW_ASSIGN_OR_RETURN(std::vector<Tensor> inputs, ReadTensorFile("in.npz"));
//   MW_RETURN_IF_ERROR(WriteSafetensors("state.safetensors", state));
#ifndef MESHWRIGHT_STATE_TENSOR_FILE_H_
#define MESHWRIGHT_STATE_TENSOR_FILE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "meshwright/state/tensor.h"

namespace meshwright {

// Tensors in the file's order, with unique names. The format is detected from
// the content, not the name; the tensor of an .npy file has an empty name.
// NumPy's 2-byte void type is bf16 and its 1-byte void type is raw (see
// Tensor), as ml_dtypes writes them. Errors are one line that begins with the
// path and names the offending tensor, kInvalidArgument unless the file cannot
// be read.
absl::StatusOr<std::vector<Tensor>> ReadTensorFile(const std::string& path);
// The same for a file's bytes.
absl::StatusOr<std::vector<Tensor>> ParseTensors(absl::string_view bytes);

// Writes atomically; see base/file.h. The same tensors give the same bytes, in
// whatever order they are given. kInvalidArgument for names that are repeated
// or not UTF-8, and for types that safetensors lacks.
absl::Status WriteSafetensors(const std::string& path,
                              absl::Span<const Tensor> tensors);

}  // namespace meshwright

#endif  // MESHWRIGHT_STATE_TENSOR_FILE_H_
