#include "meshwright/mesh/sharding.h"

#include <numeric>

#include "meshwright/base/check.h"

namespace meshwright {
namespace {

int64_t CeilDivide(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace

Sharding Sharding::Replicated(absl::Span<const int64_t> dimensions) {
  Sharding result;
  result.dims.reserve(dimensions.size());
  for (const int64_t size : dimensions) {
    result.dims.push_back(DimSharding{Part{size, {}}});
  }
  return result;
}

DimSharding Normalised(absl::Span<const Part> parts, const Mesh& mesh) {
  DimSharding result;
  for (const Part& part : parts) {
    if (result.empty()) {
      result.push_back(part);
      continue;
    }
    // Two digits can be written as one if the first is split completely or the
    // second not at all.
    Part& last = result.back();
    if (part.axes.empty() || mesh.Size(last.axes) == last.size) {
      last.size *= part.size;
      last.axes.Append(part.axes);
    } else {
      result.push_back(part);
    }
  }
  if (result.empty()) result.push_back(Part{});
  return result;
}

AxisList AxesOf(const DimSharding& dim) {
  AxisList axes;
  for (const Part& part : dim) {
    axes.Append(part.axes);
  }
  return axes;
}

AxisList SplitAxes(const Sharding& sharding) {
  AxisList axes;
  for (const DimSharding& dim : sharding.dims) {
    for (const Part& part : dim) {
      axes.Append(part.axes);
    }
  }
  return axes;
}

bool IsReplicated(const Sharding& sharding) {
  if (sharding.IsPending()) return false;
  for (const DimSharding& dim : sharding.dims) {
    for (const Part& part : dim) {
      if (!part.axes.empty()) return false;
    }
  }
  return true;
}

bool IsStrided(const DimSharding& dim) { return dim.size() > 1; }

bool IsEven(const DimSharding& dim, const Mesh& mesh) {
  return dim.size() > 1 || dim[0].size % mesh.Size(dim[0].axes) == 0;
}

int64_t GlobalSize(const DimSharding& dim) {
  int64_t size = 1;
  for (const Part& part : dim) size *= part.size;
  return size;
}

int64_t LocalSize(const DimSharding& dim, const Mesh& mesh) {
  int64_t size = 1;
  for (const Part& part : dim) {
    size *= CeilDivide(part.size, mesh.Size(part.axes));
  }
  return size;
}

std::vector<int64_t> GlobalDimensions(const Sharding& sharding) {
  std::vector<int64_t> dimensions;
  dimensions.reserve(sharding.dims.size());
  for (const DimSharding& dim : sharding.dims) {
    dimensions.push_back(GlobalSize(dim));
  }
  return dimensions;
}

std::vector<int64_t> LocalDimensions(const Sharding& sharding,
                                     const Mesh& mesh) {
  std::vector<int64_t> dimensions;
  dimensions.reserve(sharding.dims.size());
  for (const DimSharding& dim : sharding.dims) {
    dimensions.push_back(LocalSize(dim, mesh));
  }
  return dimensions;
}

std::vector<int64_t> GlobalIndices(const DimSharding& dim, const Mesh& mesh,
                                   int64_t device) {
  std::vector<int64_t> indices = {0};
  for (const Part& part : dim) {
    const int64_t local = CeilDivide(part.size, mesh.Size(part.axes));
    const int64_t offset = mesh.Coordinate(device, part.axes) * local;
    std::vector<int64_t> next;
    next.reserve(indices.size() * local);
    for (const int64_t major : indices) {
      for (int64_t i = 0; i < local; ++i) {
        const int64_t digit = offset + i;
        next.push_back(digit < part.size ? major * part.size + digit : -1);
      }
    }
    indices = std::move(next);
  }
  return indices;
}

Projection Project(const DimSharding& dim, absl::Span<const int64_t> sizes,
                   const Mesh& mesh) {
  Projection result;
  result.axes.resize(sizes.size());
  if (!IsEven(dim, mesh)) {
    result.complete = sizes.size() == 1;
    if (result.complete) result.axes[0] = dim[0].axes;
    return result;
  }
  size_t factor = 0;
  // Remaining size of this factor.
  int64_t left = sizes.empty() ? 1 : sizes[0];
  bool plain = false;  // Whether an unsplit digit of this factor was seen.
  const auto advance = [&] {
    while (left == 1 && factor + 1 < sizes.size()) {
      left = sizes[++factor];
      plain = false;
    }
  };
  result.complete = false;
  size_t remaining = AxesOf(dim).size();
  for (const Part& part : dim) {
    int64_t unsplit = part.size;
    for (const AxisId axis : part.axes) {
      const int64_t size = mesh.Size(axis);
      advance();
      if (plain || left % size != 0) return result;
      result.axes[factor].push_back(axis);
      left /= size;
      unsplit /= size;
      --remaining;
    }
    if (remaining == 0) break;
    while (unsplit > 1) {
      advance();
      const int64_t common = std::gcd(unsplit, left);
      if (common == 1 || (common != left && common != unsplit)) return result;
      left /= common;
      unsplit /= common;
      plain = true;
    }
  }
  result.complete = true;
  return result;
}

}  // namespace meshwright
