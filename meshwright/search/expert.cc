#include "meshwright/search/expert.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "meshwright/search/expert_axes.h"

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

// Whether some dimension can be split over all of the devices, which are
// several. Dimensions without elements are not split.
bool CanSplit(const Sharding& sharding, int64_t devices) {
  if (devices == 1) return false;
  return std::any_of(
      sharding.dims.begin(), sharding.dims.end(),
      [&](const DimSharding& dim) {
        return GlobalSize(dim) > 0 && GlobalSize(dim) % devices == 0;
      });
}

// Whether dimension `index` is sharded over those of these axes that divide it.
bool IsSplitOver(const std::vector<int32_t>& axes, const Sharding& sharding,
                 size_t index, const Mesh& mesh) {
  const DimSharding& dim = sharding.dims[index];
  return AxesOf(dim) == DividingAxes(mesh, axes, GlobalSize(dim));
}

// Whether state has this sharding, if it is sharded over all of `state`, and
// over none of `others`.
bool IsFullySharded(const Sharding& sharding, const Mesh& mesh,
                    const AxisList& state, uint32_t others) {
  const uint32_t split = SplitAxes(sharding).Bits();
  const uint32_t wanted =
      CanSplit(sharding, mesh.Size(state)) ? state.Bits() : 0;
  return (split & (state.Bits() | others)) == wanted;
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

bool SplitsWeights(Expert expert) {
  return expert == Expert::kMegatron || expert == Expert::kSequence;
}

bool IsRecipe(Expert expert) {
  return expert != Expert::kAuto && expert != Expert::kVolume;
}

Requirement RequirementOf(Expert expert, const StepModel& model,
                          const Mesh& mesh, std::optional<int32_t> batch_axis) {
  if (!IsRecipe(expert)) return {};
  const ExpertAxes axes = AxesOf(expert, mesh, batch_axis);
  const AxisList state = SubAxesOf(mesh, axes.state);
  // State of experts may be split over theirs, as the search likes.
  const uint32_t others = SubAxesOf(mesh, axes.batch).Bits() & ~state.Bits() &
                          ~SubAxesOf(mesh, axes.expert).Bits();
  return [=, &model, &mesh](GroupId group, const Sharding& sharding) {
    switch (model.kinds[group]) {
      case StateKind::kNone:
        return true;
      case StateKind::kData: {
        // The sequence is the first dimension other than the batch.
        bool is_sequence = true;
        for (size_t i = 0; i < sharding.dims.size(); ++i) {
          std::vector<int32_t> over;
          if (static_cast<int64_t>(i) == model.batch_dims[group]) {
            over = axes.batch;
          } else if (std::exchange(is_sequence, false)) {
            over = axes.sequence;
          }
          if (!IsSplitOver(over, sharding, i, mesh)) return false;
        }
        return true;
      }
      case StateKind::kWeight:
        return IsFullySharded(sharding, mesh,
                              expert == Expert::kZero2 ? AxisList() : state,
                              others | state.Bits());
      case StateKind::kOptimizer:
        return IsFullySharded(sharding, mesh, state, others);
    }
    return true;
  };
}

}  // namespace meshwright
