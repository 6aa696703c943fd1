#include "meshwright/runtime/move_state.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/runtime/job_runner.h"
#include "meshwright/runtime/synthetic_inputs.h"
#include "meshwright/state/shard_tensor.h"

namespace meshwright {
namespace {

bool IsSame(const ShardBox& one, const ShardBox& other) {
  return one.start == other.start && one.size == other.size &&
         one.local_start == other.local_start;
}

bool HaveSameShards(const Sharding& one, const Mesh& mesh,
                    const Sharding& other, const Mesh& other_mesh) {
  if (GlobalDimensions(one) != GlobalDimensions(other) ||
      LocalDimensions(one, mesh) != LocalDimensions(other, other_mesh)) {
    return false;
  }
  for (int64_t device = 0; device < mesh.device_count(); ++device) {
    if (!std::ranges::equal(ShardBoxes(one, mesh, device),
                            ShardBoxes(other, other_mesh, device), IsSame)) {
      return false;
    }
  }
  return true;
}

struct Found {
  const StateMove* move = nullptr;
  SharedParameter pair;
};

absl::StatusOr<std::vector<Found>> Find(const Runner& from, const Runner& to,
                                        const std::vector<StateMove>& moves) {
  std::vector<Found> found;
  for (const StateMove& move : moves) {
    MW_ASSIGN_OR_RETURN(const NamedArray state,
                        FindReadable(from.roles(), move.from));
    if (!state.is_state) {
      return absl::InvalidArgumentError(
          absl::StrCat(move.from, " is no state, which alone can be moved"));
    }
    MW_ASSIGN_OR_RETURN(const int64_t parameter,
                        FindParameter(to.roles(), move.to));
    found.push_back({&move, {.from = state.index, .to = parameter}});
  }
  return found;
}

}  // namespace

bool JobRunner::CanShare(const JobRunner& other,
                         const SharedParameter& pair) const {
  const Shape& shape = job_.parameters[pair.to].shape;
  const Shape& other_shape = other.job_.parameters[pair.from].shape;
  if (!site_->IsBeside(*other.site_) || is_fed_[pair.to] ||
      !other.is_given_[pair.from] || job_.BatchDimOf(pair.to).has_value() ||
      shape.element_type != other_shape.element_type ||
      job_.padding != other.job_.padding) {
    return false;
  }
  const StageId home = other.job_.step.homes[pair.from];
  const Sharding& from = other.job_.layout.parameters.at({pair.from, home});
  return std::ranges::all_of(job_.layout.parameters, [&](const auto& one) {
    const auto& [parameter, stage] = one.first;
    if (parameter != pair.to || (job_.parameters[parameter].is_state &&
                                 stage != job_.step.homes[parameter])) {
      return true;
    }
    return job_.devices[stage] == other.job_.devices[home] &&
           HaveSameShards(one.second, job_.layout.meshes[stage], from,
                          other.job_.layout.meshes[home]);
  });
}

absl::Status JobRunner::Share(JobRunner& other,
                              const std::vector<SharedParameter>& pairs) {
  MW_RETURN_IF_ERROR(site_->Share(*other.site_, pairs));
  for (const SharedParameter& pair : pairs) is_given_[pair.to] = true;
  return absl::OkStatus();
}

absl::Status JobRunner::Drop(const std::vector<int64_t>& parameters) {
  for (const int64_t parameter : parameters) is_given_[parameter] = false;
  return site_->Drop(parameters);
}

absl::Status MoveState(Runner& from, Runner& to,
                       const std::vector<StateMove>& moves, bool drop) {
  MW_ASSIGN_OR_RETURN(std::vector<Found> found, Find(from, to, moves));
  JobRunner* const source = from.AsJob();
  JobRunner* const target = to.AsJob();
  const auto is_shared = [&](const Found& one) {
    return source != nullptr && target != nullptr &&
           target->CanShare(*source, one.pair);
  };
  const auto copied =
      std::stable_partition(found.begin(), found.end(), is_shared);
  std::vector<SharedParameter> shared;
  std::vector<int64_t> dropped;
  for (auto one = found.begin(); one != copied; ++one) {
    shared.push_back(one->pair);
    dropped.push_back(one->pair.from);
  }
  if (!shared.empty()) MW_RETURN_IF_ERROR(target->Share(*source, shared));
  if (drop && !dropped.empty()) MW_RETURN_IF_ERROR(source->Drop(dropped));
  for (auto one = copied; one != found.end(); ++one) {
    MW_ASSIGN_OR_RETURN(Tensor tensor, from.Read(one->move->from));
    tensor.name = one->move->to;
    // Before it is there twice.
    if (drop && source != nullptr) {
      MW_RETURN_IF_ERROR(source->Drop({one->pair.from}));
    }
    std::vector<Tensor> tensors;
    tensors.push_back(std::move(tensor));
    MW_RETURN_IF_ERROR(to.Set(std::move(tensors)));
  }
  return absl::OkStatus();
}

}  // namespace meshwright
