#include "meshwright/state/tensor_file.h"

#include <cstring>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "meshwright/base/annotate.h"
#include "meshwright/base/file.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/state/npy.h"
#include "meshwright/state/npz.h"
#include "meshwright/state/safetensors.h"

namespace meshwright {
namespace {

absl::StatusOr<std::vector<Tensor>> ParseNpy(absl::string_view bytes) {
  absl::string_view rest = bytes;
  absl::StatusOr<Tensor> tensor =
      ReadNpy(static_cast<int64_t>(bytes.size()),
              [&](char* out, size_t size) -> absl::Status {
                if (size > rest.size()) {
                  return absl::InvalidArgumentError("is cut short");
                }
                if (size > 0) std::memcpy(out, rest.data(), size);
                rest.remove_prefix(size);
                return absl::OkStatus();
              });
  if (!tensor.ok()) return tensor.status();
  std::vector<Tensor> tensors;
  tensors.push_back(*std::move(tensor));
  return tensors;
}

absl::StatusOr<std::vector<Tensor>> ParseAnyKind(absl::string_view bytes) {
  if (absl::StartsWith(bytes, "\x93NUMPY")) return ParseNpy(bytes);
  if (absl::StartsWith(bytes, "PK\x03\x04") ||
      absl::StartsWith(bytes, "PK\x05\x06")) {
    return ParseNpz(bytes);
  }
  return ParseSafetensors(bytes);
}

}  // namespace

absl::StatusOr<std::vector<Tensor>> ParseTensors(absl::string_view bytes) {
  MW_ASSIGN_OR_RETURN(std::vector<Tensor> tensors, ParseAnyKind(bytes));
  absl::flat_hash_set<absl::string_view> names;
  for (const Tensor& tensor : tensors) {
    if (!names.insert(tensor.name).second) {
      return absl::InvalidArgumentError(
          absl::StrCat(tensor.name, ": is there twice"));
    }
  }
  return tensors;
}

absl::StatusOr<std::vector<Tensor>> ReadTensorFile(const std::string& path) {
  MW_ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path));
  absl::StatusOr<std::vector<Tensor>> tensors = ParseTensors(bytes);
  if (!tensors.ok()) return Annotate(tensors.status(), path);
  return tensors;
}

absl::Status WriteSafetensors(const std::string& path,
                              absl::Span<const Tensor> tensors) {
  absl::StatusOr<SafetensorsPlan> plan = PlanSafetensors(tensors);
  if (!plan.ok()) return Annotate(plan.status(), path);
  std::vector<absl::string_view> pieces = {plan->header};
  for (const Tensor* tensor : plan->order) pieces.push_back(tensor->data);
  return WriteFileAtomically(path, pieces);
}

}  // namespace meshwright
