#include "meshwright/service/tensor_parts.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "meshwright/base/element_type.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/service/limits.h"
#include "meshwright/service/utf8.h"

namespace meshwright {
namespace {

constexpr size_t kMaxTensorNameBytes = 4096;
constexpr int kMaxRank = 64;
constexpr size_t kFirstBytes = size_t{64} << 20;

absl::Status Wrong(const std::string& name, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(
      "tensor \"", absl::Utf8SafeCHexEscape(name.substr(0, 100)), "\" ", what));
}

// What the first part says of its tensor.
absl::StatusOr<proto::NamedTensorPart> FirstPart(const Tensor& tensor) {
  if (!IsArrayType(tensor.type)) return Wrong(tensor.name, "has no type");
  if (!IsUtf8(tensor.name)) return Wrong(tensor.name, "has a name in no UTF-8");
  proto::NamedTensorPart part;
  part.set_name(tensor.name);
  part.set_type(std::string(Name(tensor.type)));
  part.mutable_dimensions()->Add(tensor.dimensions.begin(),
                                 tensor.dimensions.end());
  return part;
}

}  // namespace

absl::Status SendParts(
    const Tensor& tensor,
    const std::function<absl::Status(proto::NamedTensorPart)>& send) {
  MW_ASSIGN_OR_RETURN(proto::NamedTensorPart part, FirstPart(tensor));
  const int64_t size = static_cast<int64_t>(tensor.data.size());
  int64_t offset = 0;
  do {
    const int64_t bytes = std::min(kPartBytes, size - offset);
    part.set_name(tensor.name);
    part.set_offset(offset);
    part.set_bytes(tensor.data.substr(offset, bytes));
    offset += bytes;
    part.set_last(offset == size);
    MW_RETURN_IF_ERROR(send(std::exchange(part, {})));
  } while (offset < size);
  return absl::OkStatus();
}

absl::StatusOr<proto::NamedTensorPart> WholePart(const Tensor& tensor,
                                                 const proto::Region& region) {
  MW_ASSIGN_OR_RETURN(proto::NamedTensorPart part, FirstPart(tensor));
  *part.mutable_region() = region;
  part.set_last(true);
  return part;
}

absl::StatusOr<LentTensor> TensorAssembler::Lend(
    const proto::NamedTensorPart& part) {
  const std::string& name = tensor_->name;
  if (regions_ == nullptr)
    return Wrong(name, "is in memory that is not shared");
  if (part.offset() != 0 || !part.bytes().empty() || !part.last()) {
    return Wrong(name, "is in shared memory and in parts");
  }
  if (part.region().size() != bytes_) {
    return Wrong(name, absl::StrCat("has ", bytes_, " bytes, its memory ",
                                    part.region().size()));
  }
  LentTensor lent;
  MW_ASSIGN_OR_RETURN(lent.bytes, regions_->Find(part.region()));
  lent.owner = regions_->Hold();
  lent.tensor = *std::exchange(tensor_, std::nullopt);
  return lent;
}

absl::StatusOr<std::optional<LentTensor>> TensorAssembler::Add(
    proto::NamedTensorPart part) {
  if (!tensor_.has_value()) {
    MW_RETURN_IF_ERROR(Begin(part));
    if (part.has_region()) return Lend(part);
  } else if (part.name() != tensor_->name) {
    return Wrong(tensor_->name, "is not complete when the next begins");
  }
  const int64_t have = static_cast<int64_t>(tensor_->data.size());
  const int64_t more = static_cast<int64_t>(part.bytes().size());
  if (part.has_region()) {
    return Wrong(tensor_->name, "is in shared memory and in parts");
  }
  if (part.offset() != have) {
    return Wrong(tensor_->name, absl::StrCat("goes on at byte ", part.offset(),
                                             " after ", have));
  }
  if (more > bytes_ - have || (more == 0 && !part.last()) ||
      part.last() != (have + more == bytes_)) {
    return Wrong(tensor_->name,
                 absl::StrCat("has ", bytes_, " bytes; parts of ", have,
                              " and ", more, " came"));
  }
  MW_RETURN_IF_ERROR(charge_.Add(more));
  if (part.last() && have == 0) {
    tensor_->data = std::move(*part.mutable_bytes());
  } else {
    // Memory for what has come, not for what was promised.
    if (const size_t need = have + more; need > tensor_->data.capacity()) {
      tensor_->data.reserve(
          std::min<size_t>(bytes_, std::max<size_t>(kFirstBytes, 2 * need)));
    }
    tensor_->data.append(part.bytes());
  }
  if (!part.last()) return std::optional<LentTensor>();
  charge_.Clear();
  return LentTensor{.tensor = *std::exchange(tensor_, std::nullopt)};
}

absl::Status TensorAssembler::End() const {
  if (!tensor_.has_value()) return absl::OkStatus();
  return Wrong(tensor_->name, "is not complete");
}

absl::Status TensorAssembler::Begin(const proto::NamedTensorPart& part) {
  const std::string& name = part.name();
  if (name.empty() || name.size() > kMaxTensorNameBytes) {
    return Wrong(name,
                 absl::StrCat("has a name of ", name.size(),
                              " bytes; it has 1 to ", kMaxTensorNameBytes));
  }
  const std::optional<ElementType> type = ParseElementType(part.type());
  if (!type.has_value() || !IsArrayType(*type)) {
    return Wrong(
        name, absl::StrCat("has no type \"",
                           absl::Utf8SafeCHexEscape(part.type().substr(0, 20)),
                           "\""));
  }
  if (part.dimensions_size() > kMaxRank) {
    return Wrong(name,
                 absl::StrCat("has ", part.dimensions_size(), " dimensions"));
  }
  Tensor tensor = {.name = name, .type = *type};
  tensor.dimensions.assign(part.dimensions().begin(), part.dimensions().end());
  const std::optional<int64_t> bytes =
      CheckedBytes(tensor.dimensions, HostBytes(*type));
  if (!bytes.has_value()) return Wrong(name, "has no such size");
  bytes_ = *bytes;
  tensor_ = std::move(tensor);
  return absl::OkStatus();
}

}  // namespace meshwright
