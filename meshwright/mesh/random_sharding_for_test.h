// Random meshes and shardings, the same for a seed.
#ifndef MESHWRIGHT_MESH_RANDOM_SHARDING_FOR_TEST_H_
#define MESHWRIGHT_MESH_RANDOM_SHARDING_FOR_TEST_H_

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "meshwright/mesh/mesh.h"
#include "meshwright/mesh/sharding.h"

namespace meshwright {

inline Mesh ParseMesh(absl::string_view text) {
  return Mesh::Parse(text).value();
}

class RandomSharding {
 public:
  explicit RandomSharding(uint64_t seed) : random_(seed) {}

  int64_t Below(int64_t bound) {
    return std::uniform_int_distribution<int64_t>(0, bound - 1)(random_);
  }

  // Up to 48 devices on up to three axes, sometimes out of order.
  Mesh NextMesh() {
    static constexpr int64_t kSizes[] = {1, 2, 3, 4, 6, 8};
    std::vector<MeshAxis> axes;
    int64_t devices = 1;
    for (int64_t i = 1 + Below(3); i > 0; --i) {
      const int64_t size = kSizes[Below(6)];
      if (devices * size > 48) continue;
      devices *= size;
      axes.push_back({std::string(1, "abc"[axes.size()]), size});
    }
    std::vector<int64_t> ids(devices);
    std::iota(ids.begin(), ids.end(), 0);
    if (Below(3) == 0) std::shuffle(ids.begin(), ids.end(), random_);
    return Mesh::Create(std::move(axes), std::move(ids)).value();
  }

  // The mesh's sub-axes in random order.
  std::vector<AxisId> Shuffled(const Mesh& mesh) {
    const AxisList all = mesh.AllSubAxes();
    std::vector<AxisId> axes(all.begin(), all.end());
    std::shuffle(axes.begin(), axes.end(), random_);
    return axes;
  }

  // Parts that each divide; takes the axes from the back of `axes`.
  std::vector<Part> NextParts(const Mesh& mesh, int64_t count,
                              std::vector<AxisId>& axes) {
    std::vector<Part> parts;
    for (; count > 0; --count) {
      Part part;
      for (; !axes.empty() && Below(2) == 0; axes.pop_back()) {
        part.axes.push_back(axes.back());
      }
      part.size = mesh.Size(part.axes) * (1 + Below(3));
      parts.push_back(part);
    }
    return parts;
  }

  // Of rank 0 to 3; strided, uneven and pending ones among them.
  Sharding Next(const Mesh& mesh) {
    Sharding result;
    std::vector<AxisId> axes = Shuffled(mesh);
    for (int64_t rank = Below(4); rank > 0; --rank) {
      const int64_t parts = Below(3) == 0 ? 1 + Below(3) : 1;
      DimSharding dim = Normalised(NextParts(mesh, parts, axes), mesh);
      if (dim.size() == 1 && Below(4) == 0) dim[0].size += Below(5);
      result.dims.push_back(std::move(dim));
    }
    for (; !axes.empty() && Below(4) == 0; axes.pop_back()) {
      result.pending.push_back(axes.back());
    }
    std::sort(result.pending.begin(), result.pending.end());
    if (result.IsPending()) {
      result.reduction = static_cast<Reduction>(Below(6));
    }
    return result;
  }

 private:
  std::mt19937_64 random_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_MESH_RANDOM_SHARDING_FOR_TEST_H_
