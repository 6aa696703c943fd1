#include "meshwright/search/expert.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace meshwright {
namespace {

constexpr std::pair<Expert, absl::string_view> kNames[] = {
    {Expert::kAuto, "auto"},         {Expert::kDp, "dp"},
    {Expert::kZero2, "zero2"},       {Expert::kZero3, "zero3"},
    {Expert::kMegatron, "megatron"}, {Expert::kSequence, "sequence"},
    {Expert::kVolume, "volume"}};

// Common aliases.
constexpr std::pair<absl::string_view, Expert> kAliases[] = {
    {"ddp", Expert::kDp},          {"zero1", Expert::kZero2},
    {"fsdp", Expert::kZero3},      {"tp", Expert::kMegatron},
    {"tensor", Expert::kMegatron}, {"sp", Expert::kSequence}};

// Names that are not strategies here, and what to do instead.
constexpr std::pair<absl::string_view, absl::string_view> kOthers[] = {
    {"ep",
     "expert parallelism is no strategy of its own here: auto splits experts "
     "over devices where that is fastest, and --pin with the experts' weights "
     "as [model, ...] asks for it"},
    {"pp", "pipeline parallelism is --stages N, with any strategy"}};

bool IsSplitBy(const Sharding& sharding, uint32_t axes) {
  return (SplitAxes(sharding).Bits() & axes) != 0;
}

// Whether some dimension can be split over all of the devices, which are
// several.
bool CanSplit(const Sharding& sharding, int64_t devices) {
  if (devices == 1) return false;
  return std::any_of(
      sharding.dims.begin(), sharding.dims.end(),
      [&](const DimSharding& dim) { return GlobalSize(dim) % devices == 0; });
}

// Whether dimension `index` is sharded over exactly these axes, if they divide
// it; otherwise unsharded.
bool LiesAlong(const Sharding& sharding, size_t index, const AxisList& axes,
               const Mesh& mesh) {
  const bool divides = GlobalSize(sharding.dims[index]) % mesh.Size(axes) == 0;
  return AxesOf(sharding.dims[index]) == (divides ? axes : AxisList());
}

}  // namespace

absl::StatusOr<Expert> ParseExpert(absl::string_view name) {
  for (const auto& [expert, known] : kNames) {
    if (known == name) return expert;
  }
  for (const auto& [alias, expert] : kAliases) {
    if (alias == name) return expert;
  }
  for (const auto& [other, instead] : kOthers) {
    if (other == name) {
      return absl::InvalidArgumentError(
          absl::StrCat("--strategy ", name, ": ", instead));
    }
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "no strategy is called '", name, "'; there are ",
      absl::StrJoin(ExpertNames(), ", "), " (and ddp, zero1, fsdp, tp, sp)"));
}

absl::string_view Name(Expert expert) {
  for (const auto& [known, name] : kNames) {
    if (known == expert) return name;
  }
  return "";
}

std::string RemarkOn(absl::string_view name) {
  if (name != "zero1") return "";
  return "zero1 is planned as zero2: optimizer state is sharded, weights are "
         "not; gradients are reduce-scattered where that takes less than an "
         "all-reduce";
}

std::vector<std::string> ExpertNames() {
  std::vector<std::string> names;
  for (const auto& [expert, name] : kNames) names.emplace_back(name);
  return names;
}

int AxesFor(Expert expert) {
  switch (expert) {
    case Expert::kDp:
    case Expert::kZero2:
    case Expert::kZero3:
      return 1;
    default:
      return 2;
  }
}

Demand DemandOf(Expert expert, const StepModel& model, const Mesh& mesh) {
  if (expert == Expert::kAuto || expert == Expert::kVolume) return {};
  const AxisList batch = mesh.SubAxes(0);
  const AxisList second = mesh.axes().size() > 1 ? mesh.SubAxes(1) : AxisList();
  return [=, &model, &mesh](int32_t group, const Sharding& sharding) {
    switch (model.kinds[group]) {
      case StateKind::kNone:
        return true;
      case StateKind::kData: {
        // The sequence is the first dimension other than the batch.
        bool is_sequence = expert == Expert::kSequence;
        for (size_t i = 0; i < sharding.dims.size(); ++i) {
          AxisList axes;
          if (static_cast<int64_t>(i) == model.batch_dims[group]) {
            axes = batch;
          } else if (std::exchange(is_sequence, false)) {
            axes = second;
          }
          if (!LiesAlong(sharding, i, axes, mesh)) return false;
        }
        return true;
      }
      case StateKind::kWeight:
      case StateKind::kOptimizer:
        break;
    }
    const bool is_weight = model.kinds[group] == StateKind::kWeight;
    const bool split = IsSplitBy(sharding, batch.Bits());
    if (expert == Expert::kZero3 || (expert == Expert::kZero2 && !is_weight)) {
      return split == CanSplit(sharding, mesh.Size(batch));
    }
    return !split;
  };
}

}  // namespace meshwright
