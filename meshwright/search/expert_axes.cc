#include "meshwright/search/expert_axes.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/string_view.h"

namespace meshwright {
namespace {

enum class Purpose : uint8_t {
  kOpen,  // The name does not say.
  kBatch,
  kState,  // The batch, and state as in FSDP.
  kExpert,
  kTensor,
  kSequence,
};

// As in MaxText, Megatron, DeepSpeed, Levanter and our own meshes.
constexpr std::pair<absl::string_view, Purpose> kWords[] = {
    {"data", Purpose::kBatch},        {"dp", Purpose::kBatch},
    {"ddp", Purpose::kBatch},         {"batch", Purpose::kBatch},
    {"replica", Purpose::kBatch},     {"fsdp", Purpose::kState},
    {"zero", Purpose::kState},        {"expert", Purpose::kExpert},
    {"experts", Purpose::kExpert},    {"ep", Purpose::kExpert},
    {"model", Purpose::kTensor},      {"mp", Purpose::kTensor},
    {"tensor", Purpose::kTensor},     {"tp", Purpose::kTensor},
    {"sequence", Purpose::kSequence}, {"seq", Purpose::kSequence},
    {"sp", Purpose::kSequence},       {"context", Purpose::kSequence},
    {"cp", Purpose::kSequence}};

// By the first word that is known: "dcn_data" is data, "model2" model.
Purpose PurposeOf(absl::string_view name) {
  size_t at = 0;
  while (at < name.size()) {
    size_t end = at;
    while (end < name.size() && absl::ascii_isalpha(name[end])) ++end;
    const std::string word = absl::AsciiStrToLower(name.substr(at, end - at));
    for (const auto& [known, purpose] : kWords) {
      if (known == word) return purpose;
    }
    at = end + 1;
  }
  return Purpose::kOpen;
}

bool IsForBatch(Purpose purpose) {
  return purpose == Purpose::kBatch || purpose == Purpose::kState ||
         purpose == Purpose::kExpert;
}

// Gives axes with open names a purpose, so that the strategy has what it needs.
void Settle(Expert expert, std::vector<Purpose>& purposes) {
  const auto open = [&] { return std::ranges::find(purposes, Purpose::kOpen); };
  const bool has_batch = std::ranges::any_of(purposes, IsForBatch);
  const bool needs_tensor =
      SplitsWeights(expert) &&
      !std::ranges::any_of(purposes, [](Purpose purpose) {
        return purpose == Purpose::kTensor || purpose == Purpose::kSequence;
      });
  const bool is_all_tensor =
      needs_tensor && std::ranges::count(purposes, Purpose::kOpen) == 1;
  if (!has_batch && !is_all_tensor && open() != purposes.end()) {
    *open() = Purpose::kBatch;
  }
  std::ranges::replace(purposes, Purpose::kOpen, Purpose::kTensor);
  // Data parallelism needs an axis, whatever its name.
  if (!SplitsWeights(expert) && !std::ranges::any_of(purposes, IsForBatch)) {
    purposes.front() = Purpose::kBatch;
  }
}

}  // namespace

ExpertAxes AxesOf(Expert expert, const Mesh& mesh,
                  std::optional<int32_t> batch_axis) {
  std::vector<Purpose> purposes;
  for (const MeshAxis& axis : mesh.axes()) {
    purposes.push_back(PurposeOf(axis.name));
  }
  if (batch_axis.has_value()) {
    for (Purpose& purpose : purposes) {
      if (IsForBatch(purpose)) purpose = Purpose::kOpen;
    }
    purposes[*batch_axis] = Purpose::kBatch;
  }
  Settle(expert, purposes);
  ExpertAxes axes;
  for (int32_t i = 0; i < std::ssize(purposes); ++i) {
    if (IsForBatch(purposes[i])) axes.batch.push_back(i);
    if (purposes[i] == Purpose::kState && expert != Expert::kDp) {
      axes.state.push_back(i);
    }
    if (purposes[i] == Purpose::kExpert) axes.expert.push_back(i);
    if (purposes[i] == Purpose::kTensor) axes.tensor.push_back(i);
    if (purposes[i] == Purpose::kSequence) axes.sequence.push_back(i);
  }
  if (expert == Expert::kSequence && axes.sequence.empty()) {
    axes.sequence = axes.tensor;
  }
  const bool is_zero = expert == Expert::kZero2 || expert == Expert::kZero3;
  if (is_zero && axes.state.empty()) axes.state = axes.batch;
  return axes;
}

AxisList SubAxesOf(const Mesh& mesh, const std::vector<int32_t>& axes) {
  AxisList all;
  for (const int32_t axis : axes) all.Append(mesh.SubAxes(axis));
  return all;
}

AxisList DividingAxes(const Mesh& mesh, const std::vector<int32_t>& axes,
                      int64_t size) {
  AxisList dividing;
  for (const int32_t axis : axes) {
    AxisList more = dividing;
    more.Append(mesh.SubAxes(axis));
    if (size > 0 && size % mesh.Size(more) == 0) dividing = more;
  }
  return dividing;
}

}  // namespace meshwright
