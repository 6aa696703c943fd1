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
// reference implementation requires; "__metadata__" is ignored.
absl::StatusOr<std::vector<Tensor>> ParseSafetensors(absl::string_view bytes);

// A tensor of a file, without its data, and the offset of these in the file.
struct PlacedTensor {
  Tensor tensor;
  int64_t offset = 0;
};
// For a file of `file_bytes` bytes, accessed by `read`; reads only the header.
absl::StatusOr<std::vector<PlacedTensor>> IndexSafetensors(int64_t file_bytes,
                                                           ReadBytesAt read);

// A tensor as described in the header.
struct SafetensorsEntry {
  std::string name;
  ElementType type = ElementType::kInvalid;
  std::vector<int64_t> dimensions;
};

// Whether the format supports the type.
bool IsSafetensorsType(ElementType type);

// The bytes before the data of these tensors, which follow in this order. Types
// that the format lacks become u8, with one more dimension at the end if they
// have several bytes. kInvalidArgument for names that are repeated or not
// UTF-8.
absl::StatusOr<std::string> SafetensorsHeader(
    absl::Span<const SafetensorsEntry> entries,
    const std::map<std::string, std::string>& metadata);

// A file without its data: the header, and the tensors in the order of their
// data (widest elements first, then by name).
struct SafetensorsPlan {
  std::string header;
  std::vector<const Tensor*> order;
};

absl::StatusOr<SafetensorsPlan> PlanSafetensors(
    absl::Span<const Tensor> tensors);

}  // namespace meshwright

#endif  // MESHWRIGHT_STATE_SAFETENSORS_H_
