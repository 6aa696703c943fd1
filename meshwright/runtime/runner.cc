#include "meshwright/runtime/runner.h"

#include <cstring>
#include <utility>

#include "meshwright/base/status_macros.h"
#include "meshwright/runtime/check_size.h"

namespace meshwright {

absl::Status Runner::SetLent(LentTensor tensor) {
  std::vector<Tensor> one;
  one.push_back(Owned(std::move(tensor)));
  return Set(std::move(one));
}

absl::StatusOr<Tensor> Runner::ReadInto(const std::string& name,
                                        absl::Span<std::byte> bytes) const {
  MW_ASSIGN_OR_RETURN(Tensor tensor, Read(name));
  MW_RETURN_IF_ERROR(CheckSize(name, tensor.data.size(), bytes.size()));
  if (!bytes.empty()) {
    std::memcpy(bytes.data(), tensor.data.data(), bytes.size());
  }
  tensor.data.clear();
  return tensor;
}

}  // namespace meshwright
