#include "meshwright/state/shard_tensor.h"

#include <cstring>
#include <utility>

#include "meshwright/base/check.h"

namespace meshwright {
namespace {

// Elements that are contiguous in the whole tensor and in the shard.
struct Run {
  int64_t global = 0;
  int64_t local = 0;
  int64_t length = 0;
};

// One dimension of a tensor and of its shard. Strides are in bytes.
struct Dim {
  std::vector<Run> runs;
  int64_t global_size = 1;
  int64_t local_size = 1;
  int64_t global_stride = 1;
  int64_t local_stride = 1;

  bool IsWhole() const {
    return runs.size() == 1 && runs[0].length == global_size;
  }
};

std::vector<Run> FindRuns(const std::vector<int64_t>& global_indices) {
  std::vector<Run> runs;
  for (int64_t local = 0; local < std::ssize(global_indices); ++local) {
    const int64_t global = global_indices[local];
    if (global < 0) continue;
    if (!runs.empty() && runs.back().global + runs.back().length == global &&
        runs.back().local + runs.back().length == local) {
      ++runs.back().length;
    } else {
      runs.push_back({global, local, 1});
    }
  }
  return runs;
}

std::vector<Dim> FindDims(const Sharding& sharding, const Mesh& mesh,
                          int64_t device, int64_t element_bytes) {
  std::vector<Dim> dims;
  for (const DimSharding& dim : sharding.dims) {
    dims.push_back({.runs = FindRuns(GlobalIndices(dim, mesh, device)),
                    .global_size = GlobalSize(dim),
                    .local_size = LocalSize(dim, mesh)});
  }
  int64_t global_stride = element_bytes;
  int64_t local_stride = element_bytes;
  for (size_t i = dims.size(); i-- > 0;) {
    dims[i].global_stride = global_stride;
    dims[i].local_stride = local_stride;
    global_stride *= dims[i].global_size;
    local_stride *= dims[i].local_size;
  }
  return dims;
}

// Calls use(global offset, local offset, bytes) for the runs of dims[0, count);
// the remaining dimensions are contiguous.
template <typename Use>
void ForEachPiece(const std::vector<Dim>& dims, size_t dim, size_t count,
                  int64_t global, int64_t local, const Use& use) {
  const Dim& d = dims[dim];
  for (const Run& run : d.runs) {
    if (dim + 1 == count) {
      use(global + run.global * d.global_stride,
          local + run.local * d.local_stride, run.length * d.global_stride);
      continue;
    }
    for (int64_t i = 0; i < run.length; ++i) {
      ForEachPiece(dims, dim + 1, count,
                   global + (run.global + i) * d.global_stride,
                   local + (run.local + i) * d.local_stride, use);
    }
  }
}

// Visits the contiguous pieces of a device's shard.
template <typename Use>
void ForEachPiece(const Sharding& sharding, const Mesh& mesh, int64_t device,
                  int64_t element_bytes, const Use& use) {
  const std::vector<Dim> dims = FindDims(sharding, mesh, device, element_bytes);
  size_t count = dims.size();
  while (count > 1 && dims[count - 1].IsWhole()) --count;
  if (count == 0) {
    use(0, 0, element_bytes);
  } else {
    ForEachPiece(dims, 0, count, 0, 0, use);
  }
}

absl::Span<const std::byte> ByteSpan(const std::string& data) {
  return {reinterpret_cast<const std::byte*>(data.data()), data.size()};
}

absl::Span<std::byte> ByteSpan(std::string& data) {
  return {reinterpret_cast<std::byte*>(data.data()), data.size()};
}

std::string MakeData(absl::Span<const int64_t> dimensions, ElementType type,
                     char fill) {
  const std::optional<int64_t> bytes =
      CheckedBytes(dimensions, HostBytes(type));
  MW_CHECK(bytes.has_value()) << "a shard that does not fit in memory";
  return std::string(*bytes, fill);
}

}  // namespace

std::vector<int64_t> FirstCopies(const Sharding& sharding, const Mesh& mesh) {
  std::vector<bool> seen(mesh.device_count(), false);
  std::vector<int64_t> devices;
  const AxisList split = SplitAxes(sharding);
  for (int64_t device = 0; device < mesh.device_count(); ++device) {
    const int64_t shard = mesh.Coordinate(device, split);
    if (!seen[shard]) devices.push_back(device);
    seen[shard] = true;
  }
  return devices;
}

std::vector<std::vector<int64_t>> ShardHolders(const Sharding& sharding,
                                               const Mesh& mesh) {
  const AxisList split = SplitAxes(sharding);
  std::vector<std::vector<int64_t>> holders(mesh.Size(split));
  for (int64_t device = 0; device < mesh.device_count(); ++device) {
    holders[mesh.Coordinate(device, split)].push_back(device);
  }
  return holders;
}

std::vector<ShardBox> ShardBoxes(const Sharding& sharding, const Mesh& mesh,
                                 int64_t device) {
  std::vector<ShardBox> boxes = {{}};
  for (const DimSharding& dim : sharding.dims) {
    const std::vector<Run> runs = FindRuns(GlobalIndices(dim, mesh, device));
    std::vector<ShardBox> longer;
    for (const ShardBox& box : boxes) {
      for (const Run& run : runs) {
        ShardBox& added = longer.emplace_back(box);
        added.start.push_back(run.global);
        added.size.push_back(run.length);
        added.local_start.push_back(run.local);
      }
    }
    boxes = std::move(longer);
  }
  return boxes;
}

Tensor Shard(const Tensor& tensor, const Sharding& sharding, const Mesh& mesh,
             int64_t device, char padding) {
  MW_CHECK(!sharding.IsPending()) << tensor.name;
  MW_CHECK(GlobalDimensions(sharding) == tensor.dimensions) << tensor.name;
  Tensor shard = {.name = tensor.name,
                  .type = tensor.type,
                  .dimensions = LocalDimensions(sharding, mesh)};
  shard.data = MakeData(shard.dimensions, tensor.type, padding);
  CopyToShard(ByteSpan(tensor.data), sharding, mesh, device,
              HostBytes(tensor.type), ByteSpan(shard.data));
  return shard;
}

std::optional<int64_t> ShardOffset(const Sharding& sharding, const Mesh& mesh,
                                   int64_t device, int64_t element_bytes) {
  std::optional<int64_t> offset;
  int64_t pieces = 0;
  int64_t local_bytes = element_bytes;
  for (const DimSharding& dim : sharding.dims) {
    local_bytes *= LocalSize(dim, mesh);
  }
  ForEachPiece(sharding, mesh, device, element_bytes,
               [&](int64_t global, int64_t local, int64_t bytes) {
                 ++pieces;
                 if (local == 0 && bytes == local_bytes) offset = global;
               });
  return pieces == 1 ? offset : std::nullopt;
}

void CopyToShard(absl::Span<const std::byte> tensor, const Sharding& sharding,
                 const Mesh& mesh, int64_t device, int64_t element_bytes,
                 absl::Span<std::byte> shard) {
  ForEachPiece(sharding, mesh, device, element_bytes,
               [&](int64_t global, int64_t local, int64_t bytes) {
                 std::memcpy(shard.data() + local, tensor.data() + global,
                             bytes);
               });
}

void CopyFromShard(absl::Span<const std::byte> shard, const Sharding& sharding,
                   const Mesh& mesh, int64_t device, int64_t element_bytes,
                   absl::Span<std::byte> tensor) {
  ForEachPiece(sharding, mesh, device, element_bytes,
               [&](int64_t global, int64_t local, int64_t bytes) {
                 std::memcpy(tensor.data() + global, shard.data() + local,
                             bytes);
               });
}

Tensor Unshard(absl::Span<const Tensor> shards, const Sharding& sharding,
               const Mesh& mesh) {
  MW_CHECK(!sharding.IsPending());
  MW_CHECK(std::ssize(shards) == mesh.device_count());
  const Tensor& first = shards[FirstCopies(sharding, mesh)[0]];
  Tensor tensor = {.name = first.name,
                   .type = first.type,
                   .dimensions = GlobalDimensions(sharding)};
  tensor.data = MakeData(tensor.dimensions, tensor.type, 0);
  for (const int64_t device : FirstCopies(sharding, mesh)) {
    CopyFromShard(ByteSpan(shards[device].data), sharding, mesh, device,
                  HostBytes(tensor.type), ByteSpan(tensor.data));
  }
  return tensor;
}

std::optional<int64_t> FindDifference(const Tensor& tensor,
                                      absl::Span<const Tensor> shards,
                                      const Sharding& sharding,
                                      const Mesh& mesh) {
  for (int64_t device = 0; device < std::ssize(shards); ++device) {
    const std::string& data = shards[device].data;
    bool same = true;
    ForEachPiece(sharding, mesh, device, HostBytes(tensor.type),
                 [&](int64_t global, int64_t local, int64_t bytes) {
                   same = same && std::memcmp(tensor.data.data() + global,
                                              data.data() + local, bytes) == 0;
                 });
    if (!same) return device;
  }
  return std::nullopt;
}

}  // namespace meshwright
