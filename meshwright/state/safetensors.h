// The safetensors format: the length of a JSON header, the header, the data.
//
//   {"w": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}}
#ifndef MESHWRIGHT_STATE_SAFETENSORS_H_
#define MESHWRIGHT_STATE_SAFETENSORS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "meshwright/state/read_bytes.h"
#include "meshwright/state/tensor.h"

namespace meshwright {

// Tensors in the order of their data, which must be contiguous, as the
// reference reader demands; "__metadata__" is ignored.
absl::StatusOr<std::vector<Tensor>> ParseSafetensors(absl::string_view bytes);

// A tensor of a file, without its data, and where these lie in the file.
struct PlacedTensor {
  Tensor tensor;
  int64_t offset = 0;
};
// Of a file of so many bytes, of which `read` gives parts; only the header is
// read.
absl::StatusOr<std::vector<PlacedTensor>> IndexSafetensors(int64_t file_bytes,
                                                           ReadBytesAt read);

// A tensor of a file: what the header says of it.
struct SafetensorsEntry {
  std::string name;
  ElementType type = ElementType::kInvalid;
  std::vector<int64_t> dimensions;
};

// Whether the format has it.
bool IsSafetensorsType(ElementType type);

// The bytes before the data of these, which follow in this order. Types that
// the format lacks are u8, with a last dimension of their bytes if these are
// several. kInvalidArgument for names that repeat or are not UTF-8.
absl::StatusOr<std::string> SafetensorsHeader(
    absl::Span<const SafetensorsEntry> entries,
    const std::map<std::string, std::string>& metadata);

// A file without its data: the header's bytes, and the tensors in the order in
// which their data follow (widest elements first, then by name).
struct SafetensorsPlan {
  std::string header;
  std::vector<const Tensor*> order;
};

absl::StatusOr<SafetensorsPlan> PlanSafetensors(
    absl::Span<const Tensor> tensors);

}  // namespace meshwright

#endif  // MESHWRIGHT_STATE_SAFETENSORS_H_
