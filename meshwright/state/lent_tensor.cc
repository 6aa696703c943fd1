#include "meshwright/state/lent_tensor.h"

#include <utility>

namespace meshwright {

Tensor Owned(LentTensor lent) {
  if (lent.is_lent()) {
    lent.tensor.data.assign(reinterpret_cast<const char*>(lent.bytes.data()),
                            lent.bytes.size());
  }
  return std::move(lent.tensor);
}

}  // namespace meshwright
