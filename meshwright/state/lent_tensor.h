// A tensor whose bytes may be somebody else's, so that they need no copy.
//
//   LentTensor lent{.tensor = head, .bytes = bytes, .owner = owner};
//   Owned(std::move(lent)).data   // A copy.
#ifndef MESHWRIGHT_STATE_LENT_TENSOR_H_
#define MESHWRIGHT_STATE_LENT_TENSOR_H_

#include <cstddef>
#include <memory>

#include "absl/types/span.h"
#include "meshwright/state/tensor.h"

namespace meshwright {

struct LentTensor {
  Tensor tensor = {};  // Without data, if it is lent.
  absl::Span<const std::byte> bytes = {};
  // Keeps `bytes` where they are. Null: the tensor's data are its own.
  std::shared_ptr<const void> owner = nullptr;

  bool is_lent() const { return owner != nullptr; }
};

// With data of its own, copied if they were lent.
Tensor Owned(LentTensor lent);

}  // namespace meshwright

#endif  // MESHWRIGHT_STATE_LENT_TENSOR_H_
