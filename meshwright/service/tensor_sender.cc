#include "meshwright/service/tensor_sender.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/service/tensor_parts.h"

namespace meshwright {

absl::Status TensorSender::Add(const Tensor& tensor) {
  const int index = next_++;
  if (index >= into_.size() || into_[index].size() == 0) {
    return SendParts(tensor, send_);
  }
  MW_ASSIGN_OR_RETURN(proto::NamedTensorPart part,
                      WholePart(tensor, into_[index]));
  return send_(std::move(part));
}

absl::StatusOr<std::vector<Wanted>> WantedOf(
    const google::protobuf::RepeatedPtrField<std::string>& names,
    const RegionList& into, const Regions& regions) {
  if (!into.empty() && into.size() != names.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(into.size(), " regions for ", names.size(), " tensors"));
  }
  std::vector<Wanted> wanted(names.begin(), names.end());
  for (int i = 0; i < into.size(); ++i) {
    if (into[i].size() == 0) continue;
    MW_ASSIGN_OR_RETURN(wanted[i].into, regions.Find(into[i]));
    wanted[i].owner = regions.Hold();
  }
  return wanted;
}

}  // namespace meshwright
