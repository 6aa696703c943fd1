#include "meshwright/reshard/reshard_emit.h"

#include <utility>
#include <vector>

#include "meshwright/base/check.h"

namespace meshwright {
namespace {

// Mesh::Coordinate of every device, sub-axis by sub-axis from the outermost in.
std::vector<int64_t> CoordinatesOf(const AxisList& axes, const Mesh& mesh) {
  std::vector<int64_t> weights(mesh.sub_axes().size(), 0);
  int64_t weight = 1;
  for (size_t i = axes.size(); i-- > 0;) {
    weights[axes[i]] = weight;
    weight *= mesh.Size(axes[i]);
  }
  std::vector<int64_t> at = {0};  // By position.
  for (size_t axis = 0; axis < weights.size(); ++axis) {
    std::vector<int64_t> finer;
    finer.reserve(at.size() * mesh.sub_axes()[axis].size);
    for (const int64_t outer : at) {
      for (int64_t i = 0; i < mesh.sub_axes()[axis].size; ++i) {
        finer.push_back(outer + i * weights[axis]);
      }
    }
    at = std::move(finer);
  }
  if (mesh.device_ids().empty()) return at;
  std::vector<int64_t> by_device(at.size());
  for (size_t i = 0; i < at.size(); ++i)
    by_device[mesh.device_ids()[i]] = at[i];
  return by_device;
}

// s32[]: where this device's block of `size` begins along `axes`.
Instruction* BlockStart(const AxisList& axes, int64_t size,
                        LocalBuilder& builder) {
  std::vector<int64_t> starts = CoordinatesOf(axes, builder.mesh());
  for (int64_t& start : starts) start *= size;
  return builder.DeviceTable(starts);
}

// For each device what it holds: its position along all axes that matter, in
// the order of dimensions.
std::vector<int64_t> Roles(const Sharding& sharding, const Mesh& mesh) {
  AxisList axes;
  for (const DimSharding& dim : sharding.dims) {
    for (const Part& part : dim) {
      for (const AxisId axis : part.axes) axes.push_back(axis);
    }
  }
  for (const AxisId axis : sharding.pending) axes.push_back(axis);
  return CoordinatesOf(axes, mesh);
}

// Sends each tile to a device that is to hold it; one that does already keeps
// it.
std::vector<std::pair<int64_t, int64_t>> PermutePairs(const Sharding& before,
                                                      const Sharding& after,
                                                      const Mesh& mesh) {
  const auto has = Roles(before, mesh);
  const auto wants = Roles(after, mesh);
  std::vector<std::pair<int64_t, int64_t>> pairs;
  std::vector<std::vector<int64_t>> senders(mesh.device_count());
  for (int64_t device = mesh.device_count(); device-- > 0;) {
    if (has[device] == wants[device]) {
      pairs.emplace_back(device, device);
    } else {
      senders[has[device]].push_back(device);
    }
  }
  for (int64_t device = 0; device < mesh.device_count(); ++device) {
    if (has[device] == wants[device]) continue;
    std::vector<int64_t>& sources = senders[wants[device]];
    MW_CHECK(!sources.empty()) << "a permute between unlike shardings";
    pairs.emplace_back(sources.back(), device);
    sources.pop_back();
  }
  return pairs;
}

Instruction* EmitAllToAll(Instruction* value, const ReshardStep& step,
                          const Sharding& before, LocalBuilder& builder) {
  const int64_t size = value->shape.dimensions[step.from];
  Instruction* result = builder.AllToAll(value, step.axes, step.to, step.from);
  const AxisList& old = before.dims[step.from][0].axes;
  const AxisList left(old.end() - step.axes.size(), old.end());
  if (left == step.axes) return result;
  // The blocks came in the order of step.axes and belong in that of `left`.
  std::vector<int64_t> dimensions;
  std::vector<int64_t> order;
  const std::vector<int64_t> merged = result->shape.dimensions;
  for (int64_t i = 0; i < static_cast<int64_t>(merged.size()); ++i) {
    const int64_t first = static_cast<int64_t>(dimensions.size());
    if (i == step.from) {
      for (const AxisId axis : left) {
        for (size_t j = 0; j < step.axes.size(); ++j) {
          if (step.axes[j] == axis) {
            order.push_back(first + static_cast<int64_t>(j));
          }
        }
      }
      for (const AxisId axis : step.axes) {
        dimensions.push_back(builder.mesh().Size(axis));
      }
    }
    order.push_back(static_cast<int64_t>(dimensions.size()));
    dimensions.push_back(i == step.from ? size : merged[i]);
  }
  result = builder.Reshape(result, dimensions);
  result = builder.Transpose(result, order);
  return builder.Reshape(result, merged);
}

Instruction* EmitMakePending(Instruction* value, const ReshardStep& step,
                             LocalBuilder& builder) {
  const Reduction reduction = step.after.reduction;
  Instruction* identity =
      builder.Identity(reduction, value->shape.element_type);
  if (step.from < 0) {
    if (reduction != Reduction::kSum && reduction != Reduction::kProduct) {
      return value;
    }
    return builder.Select(builder.IsLeader(step.axes), value,
                          builder.Broadcast(identity, value->shape.dimensions));
  }
  const int64_t size = value->shape.dimensions[step.from];
  return builder.DynamicUpdateSlice(
      builder.Broadcast(identity, LocalDimensions(step.after, builder.mesh())),
      value, step.from, BlockStart(step.axes, size, builder));
}

Instruction* EmitResize(Instruction* value, const ReshardStep& step,
                        LocalBuilder& builder) {
  value = builder.Slice(value, step.from, 0, step.size);
  Instruction* zero = builder.Constant(value->shape.element_type, 0);
  return builder.Pad(value, zero, step.from, 0,
                     GlobalSize(step.after.dims[step.from]) - step.size);
}

Instruction* EmitStep(Instruction* value, const ReshardStep& step,
                      const Sharding& before, LocalBuilder& builder) {
  switch (step.kind) {
    case MoveKind::kSlice: {
      const int64_t size =
          value->shape.dimensions[step.to] / builder.mesh().Size(step.axes);
      return builder.DynamicSlice(value, step.to,
                                  BlockStart(step.axes, size, builder), size);
    }
    case MoveKind::kReduceScatter:
      return builder.ReduceScatter(value, before.reduction, step.axes, step.to);
    case MoveKind::kAllReduce:
      return builder.AllReduce(value, before.reduction, step.axes);
    case MoveKind::kAllToAll:
      return EmitAllToAll(value, step, before, builder);
    case MoveKind::kPermute:
      return builder.CollectivePermute(
          value, PermutePairs(before, step.after, builder.mesh()));
    case MoveKind::kAllGather:
      return builder.AllGather(value, step.axes, step.from);
    case MoveKind::kMakePending:
      return EmitMakePending(value, step, builder);
    case MoveKind::kResize:
      return EmitResize(value, step, builder);
    case MoveKind::kRegroup:
      return builder.Reshape(value,
                             LocalDimensions(step.after, builder.mesh()));
  }
  MW_CHECK(false) << "unknown move";
}

}  // namespace

Instruction* EmitReshard(Instruction* value, const Sharding& from,
                         const Sharding& to, Resharder& resharder,
                         LocalBuilder& builder) {
  if (from == to) return value;
  const ElementType type = value->shape.element_type;
  const std::vector<int64_t> wanted = LocalDimensions(to, builder.mesh());
  for (const int64_t size : GlobalDimensions(from)) {
    if (size == 0) return builder.Broadcast(builder.Constant(type, 0), wanted);
  }
  const Sharding* before = &from;
  for (const ReshardStep& step : resharder.Path(type, from, to)) {
    value = EmitStep(value, step, *before, builder);
    before = &step.after;
  }
  MW_CHECK(value->shape.dimensions == wanted) << "a reshard went astray";
  return value;
}

}  // namespace meshwright
