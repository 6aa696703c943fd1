// The sharding of a tensor on a mesh: which axes split each dimension, and over
// which axes its value is a pending partial sum.
//
//   [data, -, model]          dimension 0 split over data, 2 over model
//   [(data,model), -]         split over both, data major
//   [data, -] +{model}        to be summed over model
//   [3:- 256:model]           768 = 3 x 256, each of the 3 parts is split
//
// On a mesh of data=4,model=2 a f32[8,6,10] with the first sharding is
// f32[2,6,5] on each device. The tensor is replicated over axes that are not
// named.
#ifndef MESHWRIGHT_MESH_SHARDING_H_
#define MESHWRIGHT_MESH_SHARDING_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "meshwright/mesh/mesh.h"

namespace meshwright {

// How the partial values of a pending tensor are combined.
enum class Reduction : uint8_t { kSum, kProduct, kMax, kMin, kAnd, kOr };

// A digit of a dimension's index: `size` values, split over `axes`.
struct Part {
  int64_t size = 1;
  AxisList axes;

  bool operator==(const Part&) const = default;
  template <typename H>
  friend H AbslHashValue(H h, const Part& part) {
    return H::combine(std::move(h), part.size, part.axes);
  }
};

// A dimension's parts, major first; their sizes multiply to the dimension's
// size. One part is an ordinary split into contiguous blocks; several are a
// strided split. Only a single part may be uneven: then every shard has
// ceil(size / shards) elements, the last ones partly padding.
using DimSharding = std::vector<Part>;

struct Sharding {
  std::vector<DimSharding> dims;
  Reduction reduction =
      Reduction::kSum;  // Of `pending`; kSum if that is empty.
  AxisList pending;     // Ascending.

  static Sharding Replicated(absl::Span<const int64_t> dimensions);

  bool IsPending() const { return !pending.empty(); }
  bool operator==(const Sharding&) const = default;
  template <typename H>
  friend H AbslHashValue(H h, const Sharding& sharding) {
    return H::combine(std::move(h), sharding.dims, sharding.reduction,
                      sharding.pending);
  }
};

// The unique shortest list of parts that splits in the same way. Every
// DimSharding in a Sharding is in this form.
DimSharding Normalised(absl::Span<const Part> parts, const Mesh& mesh);

// All axes that split the dimension, in order.
AxisList AxesOf(const DimSharding& dim);
// All axes that split any dimension.
AxisList SplitAxes(const Sharding& sharding);
bool IsReplicated(const Sharding& sharding);  // No split, nothing pending.
bool IsStrided(const DimSharding& dim);
bool IsEven(const DimSharding& dim, const Mesh& mesh);

int64_t GlobalSize(const DimSharding& dim);
// Elements per device, including padding.
int64_t LocalSize(const DimSharding& dim, const Mesh& mesh);
std::vector<int64_t> GlobalDimensions(const Sharding& sharding);
std::vector<int64_t> LocalDimensions(const Sharding& sharding,
                                     const Mesh& mesh);

// The global index of each local element on `device`, in order; -1 for padding.
std::vector<int64_t> GlobalIndices(const DimSharding& dim, const Mesh& mesh,
                                   int64_t device);

// A dimension factored into `sizes`, major first.
struct Projection {
  std::vector<AxisList> axes;  // By factor.
  // Whether every axis of the dimension fits some factor.
  bool complete = true;
};
// Distributes the axes of `dim` over the factors. If one does not fit (it would
// straddle factors, or make the split of one strided), it and all minor ones
// are left out. An uneven split fits only a single factor.
Projection Project(const DimSharding& dim, absl::Span<const int64_t> sizes,
                   const Mesh& mesh);

}  // namespace meshwright

#endif  // MESHWRIGHT_MESH_SHARDING_H_
