#include "meshwright/planner/batch_axis.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "meshwright/annotations/recorded_names.h"
#include "meshwright/base/annotate.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/mesh/sharding_text.h"
#include "meshwright/microbatch/batch_dimensions.h"
#include "meshwright/search/expert_axes.h"

namespace meshwright {
namespace {

using BatchDims = std::vector<std::optional<int64_t>>;

const Shape& ShapeOf(const FlatGraph& graph, size_t leaf) {
  return *graph.values[graph.ops[graph.parameters[leaf]].first_result].shape;
}

std::string NameOf(const FlatGraph& graph, size_t leaf) {
  return RecordedName(*graph.ops[graph.parameters[leaf]].instruction);
}

}  // namespace

std::optional<int32_t> BatchAxisOf(const PlanRequest& request,
                                   const Mesh& mesh) {
  if (request.batch_axis.empty()) return std::nullopt;
  return request.mesh.has_value() ? mesh.FindAxis(request.batch_axis) : 0;
}

absl::Status KeepBatchMeshes(const Module& module, const PlanRequest& request,
                             std::vector<Mesh>& meshes) {
  if (request.batch_axis.empty()) return absl::OkStatus();
  if (request.mesh.has_value() &&
      !request.mesh->FindAxis(request.batch_axis).has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--batch-axis ", request.batch_axis, ": the mesh ",
                     request.mesh->ToString(), " has no such axis"));
  }
  const FlatGraph graph = Flatten(module);
  const auto found = BatchDimensions(module, graph, {.count = 1});
  if (!found.ok()) {
    return Annotate(found.status(),
                    absl::StrCat("--batch-axis ", request.batch_axis));
  }
  const BatchDims& dims = *found;
  int64_t batch = 0;
  std::string name;
  std::string sizes;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (!dims[i].has_value()) continue;
    batch = ShapeOf(graph, i).dimensions[*dims[i]];
    name = NameOf(graph, i);
    const int64_t size = batch;
    std::erase_if(meshes, [&](const Mesh& mesh) {
      const int64_t axis = mesh.axes()[*BatchAxisOf(request, mesh)].size;
      if (size % axis == 0) return false;
      sizes = absl::StrCat(axis);
      return true;
    });
    if (!meshes.empty()) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "--batch-axis ", request.batch_axis, ": the batch of ", name, ", ",
        batch, ", does not divide into ", sizes, " parts"));
  }
  return absl::OkStatus();
}

absl::Status PinBatch(const PlanRequest& request, const StepModel& model,
                      const Mesh& mesh, Annotations& pins) {
  if (request.batch_axis.empty()) return absl::OkStatus();
  MW_ASSIGN_OR_RETURN(
      const BatchDims dims,
      BatchDimensions(*model.module, model.graph, {.count = 1}));
  const AxisList axes = mesh.SubAxes(*BatchAxisOf(request, mesh));
  pins.parameters.resize(dims.size());
  for (size_t i = 0; i < dims.size(); ++i) {
    if (!dims[i].has_value()) continue;
    const size_t at = static_cast<size_t>(*dims[i]);
    const Shape& shape = ShapeOf(model.graph, i);
    std::optional<Annotation>& pin = pins.parameters[i];
    if (!pin.has_value()) {
      pin = Annotation(Sharding::Replicated(shape.dimensions),
                       std::vector<bool>(shape.dimensions.size(), true));
    } else if (pin->free.empty() || !pin->free[at]) {
      if (AxesOf(pin->sharding.dims[at]) == axes) continue;
      return absl::InvalidArgumentError(
          absl::StrCat(ParameterName(model, i), " is pinned to ",
                       ToString(pin->sharding, mesh), ", --batch-axis ",
                       request.batch_axis, " splits its dimension ", at));
    }
    pin->sharding.dims[at] = {Part{shape.dimensions[at], axes}};
    pin->free[at] = false;
  }
  return absl::OkStatus();
}

std::vector<std::string> WhyBatchStays(const Module& module,
                                       const PlanRequest& request,
                                       const Plan& plan) {
  if (!IsRecipe(request.expert) && request.batch_axis.empty()) return {};
  const Mesh& mesh = plan.mesh();
  const std::optional<int32_t> named = mesh.FindAxis(request.batch_axis);
  const std::vector<int32_t> axes =
      IsRecipe(request.expert) ? AxesOf(request.expert, mesh, named).batch
                               : std::vector<int32_t>{named.value_or(0)};
  const AxisList all = SubAxesOf(mesh, axes);
  const FlatGraph graph = Flatten(module);
  const auto dims = BatchDimensions(module, graph, {.count = 1});
  if (!dims.ok()) return {};
  std::string first;
  std::string unused;  // Axes.
  int64_t examples = 0;
  int64_t more = -1;
  for (size_t i = 0; i < dims->size(); ++i) {
    if (!(*dims)[i].has_value()) continue;
    const int64_t part =
        ShapeOf(graph, i).dimensions[*(*dims)[i]] / plan.micro_batches;
    const AxisList used = DividingAxes(mesh, axes, part);
    if (used == all) continue;
    if (++more > 0) continue;
    first = NameOf(graph, i);
    examples = part;
    AxisList rest;
    std::ranges::remove_copy_if(
        all, std::back_inserter(rest),
        [&](AxisId axis) { return used.Contains(axis); });
    unused = AxesToString(rest, mesh);
  }
  if (more < 0) return {};
  return {absl::StrCat(
      "along ", unused, " the batch is not split: the ", examples,
      plan.micro_batches > 1 ? " examples of a micro-batch of "
                             : " examples of ",
      first, more > 0 ? absl::StrCat(" (and ", more, " more)") : "",
      " do not divide into ", mesh.Size(all), " parts")};
}

std::vector<std::string> WhyWeightsStay(const PlanRequest& request,
                                        const Plan& plan) {
  const Mesh& mesh = plan.mesh();
  if (!SplitsWeights(request.expert) || mesh.device_count() == 1) return {};
  const ExpertAxes axes =
      AxesOf(request.expert, mesh, mesh.FindAxis(request.batch_axis));
  if (mesh.Size(SubAxesOf(mesh, axes.tensor)) > 1) return {};
  return {absl::StrCat("no axis of the mesh ", mesh.ToString(),
                       " splits weights as ", Name(request.expert),
                       " does: it would be called model, tensor or tp")};
}

}  // namespace meshwright
