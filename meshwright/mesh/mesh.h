// A logical grid of devices with named axes.
//
//   MW_ASSIGN_OR_RETURN(Mesh mesh, Mesh::Parse("data=4,model=2"));
//   mesh.device_count();              // 8
//   AxisList data = mesh.SubAxes(0);  // "data" as prime sub-axes {2, 2}
//   mesh.Groups(data);                // {0,2,4,6}, {1,3,5,7}
//
// Except for names, everything works on prime sub-axes: an axis of 8 is three
// sub-axes of 2, major first. Any way to shard over a part of an axis is then a
// list of whole sub-axes, and two lists either share one or do not.
#ifndef MESHWRIGHT_MESH_MESH_H_
#define MESHWRIGHT_MESH_MESH_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "meshwright/mesh/axis_list.h"

namespace meshwright {

// The limit for clusters, too.
inline constexpr int64_t kMaxMeshDevices = int64_t{1} << 20;

struct MeshAxis {
  std::string name;
  int64_t size = 1;

  bool operator==(const MeshAxis&) const = default;
};

// A prime part of `axis`; `before` is the product of the sizes of the more
// major sub-axes of the same axis.
struct SubAxis {
  int32_t axis = 0;
  int64_t before = 1;
  int64_t size = 1;
};

class Mesh {
 public:
  // Devices are numbered 0, 1, ... with the last axis varying fastest, unless
  // `device_ids` lists the device at each such position. kInvalidArgument if a
  // name is repeated or not an identifier, a size is below 1, there are more
  // than 2^20 devices, or the ids are not a permutation.
  static absl::StatusOr<Mesh> Create(std::vector<MeshAxis> axes,
                                     std::vector<int64_t> device_ids = {});
  // "data=4,model=2"; "8" is one axis named "d".
  static absl::StatusOr<Mesh> Parse(absl::string_view text);
  std::string ToString() const;

  const std::vector<MeshAxis>& axes() const { return axes_; }
  const std::vector<SubAxis>& sub_axes() const { return sub_axes_; }
  int64_t device_count() const { return device_count_; }
  // Empty if devices are numbered in order.
  const std::vector<int64_t>& device_ids() const { return device_ids_; }

  // The index of the axis with this name.
  std::optional<int32_t> FindAxis(absl::string_view name) const;
  // The sub-axes of axis `axis`, major first; empty for an axis of size 1.
  AxisList SubAxes(int32_t axis) const;
  AxisList AllSubAxes() const;

  int64_t Size(AxisId id) const { return sub_axes_[id].size; }
  // The number of devices along these sub-axes together.
  int64_t Size(const AxisList& axes) const;

  // The position of `device` along `axes`: 0 <= result < Size(axes).
  int64_t Coordinate(int64_t device, const AxisList& axes) const;
  // Groups of devices that differ only along `axes`, each ordered by
  // Coordinate.
  std::vector<std::vector<int64_t>> Groups(const AxisList& axes) const;

  bool operator==(const Mesh& other) const {
    return axes_ == other.axes_ && device_ids_ == other.device_ids_;
  }

 private:
  Mesh() = default;

  std::vector<MeshAxis> axes_;
  std::vector<SubAxis> sub_axes_;
  std::vector<int64_t> strides_;  // Of sub-axes, in positions.
  std::vector<int64_t> device_ids_;
  std::vector<int64_t> positions_;  // By device; empty if device_ids_ is.
  int64_t device_count_ = 1;
};

// "data", "(data,model)", or "data:(2)4" for a part: the sub-axes of `data`
// after a major part of 2, of size 4 together. "-" for none.
std::string AxesToString(const AxisList& axes, const Mesh& mesh);

bool Disjoint(const AxisList& a, const AxisList& b);

}  // namespace meshwright

#endif  // MESHWRIGHT_MESH_MESH_H_
