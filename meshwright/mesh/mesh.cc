#include "meshwright/mesh/mesh.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "meshwright/base/status_macros.h"

namespace meshwright {
namespace {

bool IsIdentifier(absl::string_view name) {
  if (name.empty() || absl::ascii_isdigit(name[0])) return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return absl::ascii_isalnum(c) || c == '_' || c == '.';
  });
}

std::vector<int64_t> PrimeFactors(int64_t size) {
  std::vector<int64_t> factors;
  for (int64_t prime = 2; prime * prime <= size; ++prime) {
    for (; size % prime == 0; size /= prime) factors.push_back(prime);
  }
  if (size > 1) factors.push_back(size);
  return factors;
}

absl::Status CheckPermutation(const std::vector<int64_t>& ids, int64_t count) {
  std::vector<bool> seen(count, false);
  const bool right_length = static_cast<int64_t>(ids.size()) == count;
  for (const int64_t id : ids) {
    if (!right_length || id < 0 || id >= count || seen[id]) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the mesh's device ids must name each of 0 to ", count - 1, " once"));
    }
    seen[id] = true;
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Mesh> Mesh::Create(std::vector<MeshAxis> axes,
                                  std::vector<int64_t> device_ids) {
  Mesh mesh;
  for (const MeshAxis& axis : axes) {
    if (!IsIdentifier(axis.name)) {
      return absl::InvalidArgumentError(
          absl::StrCat("mesh axis name '", axis.name,
                       "' is not an identifier (letters, digits, _)"));
    }
    if (mesh.FindAxis(axis.name).has_value()) {
      return absl::InvalidArgumentError(
          absl::StrCat("mesh axis '", axis.name, "' is given twice"));
    }
    if (axis.size < 1 || axis.size > kMaxMeshDevices ||
        mesh.device_count_ > kMaxMeshDevices / axis.size) {
      return absl::InvalidArgumentError(
          absl::StrCat("mesh axis '", axis.name, "' has size ", axis.size,
                       "; sizes are at least 1 and multiply to at most 2^20"));
    }
    mesh.device_count_ *= axis.size;
    int64_t before = 1;
    for (const int64_t prime : PrimeFactors(axis.size)) {
      mesh.sub_axes_.push_back(
          {static_cast<int32_t>(mesh.axes_.size()), before, prime});
      before *= prime;
    }
    mesh.axes_.push_back(axis);
  }
  mesh.strides_.resize(mesh.sub_axes_.size());
  int64_t stride = 1;
  for (size_t i = mesh.sub_axes_.size(); i-- > 0;) {
    mesh.strides_[i] = stride;
    stride *= mesh.sub_axes_[i].size;
  }
  if (!device_ids.empty()) {
    MW_RETURN_IF_ERROR(CheckPermutation(device_ids, mesh.device_count_));
    if (!std::is_sorted(device_ids.begin(), device_ids.end())) {
      mesh.positions_.resize(device_ids.size());
      for (size_t i = 0; i < device_ids.size(); ++i) {
        mesh.positions_[device_ids[i]] = static_cast<int64_t>(i);
      }
      mesh.device_ids_ = std::move(device_ids);
    }
  }
  return mesh;
}

absl::StatusOr<Mesh> Mesh::Parse(absl::string_view text) {
  std::vector<MeshAxis> axes;
  int64_t size = 0;
  if (absl::SimpleAtoi(text, &size)) return Create({{"d", size}});
  for (absl::string_view item : absl::StrSplit(text, ',')) {
    const std::vector<absl::string_view> halves = absl::StrSplit(item, '=');
    if (halves.size() != 2 || !absl::SimpleAtoi(halves[1], &size)) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", text,
                       "' is no mesh; write axis=size,axis=size, "
                       "such as data=4,model=2"));
    }
    axes.push_back({std::string(absl::StripAsciiWhitespace(halves[0])), size});
  }
  return Create(std::move(axes));
}

std::string Mesh::ToString() const {
  return absl::StrJoin(axes_, ",", [](std::string* out, const MeshAxis& axis) {
    absl::StrAppend(out, axis.name, "=", axis.size);
  });
}

std::optional<int32_t> Mesh::FindAxis(absl::string_view name) const {
  for (size_t i = 0; i < axes_.size(); ++i) {
    if (axes_[i].name == name) return static_cast<int32_t>(i);
  }
  return std::nullopt;
}

AxisList Mesh::SubAxes(int32_t axis) const {
  AxisList result;
  for (size_t i = 0; i < sub_axes_.size(); ++i) {
    if (sub_axes_[i].axis == axis) result.push_back(static_cast<AxisId>(i));
  }
  return result;
}

AxisList Mesh::AllSubAxes() const {
  AxisList result;
  for (size_t i = 0; i < sub_axes_.size(); ++i) {
    result.push_back(static_cast<AxisId>(i));
  }
  return result;
}

int64_t Mesh::Size(const AxisList& axes) const {
  int64_t size = 1;
  for (const AxisId axis : axes) size *= sub_axes_[axis].size;
  return size;
}

int64_t Mesh::Coordinate(int64_t device, const AxisList& axes) const {
  const int64_t position = positions_.empty() ? device : positions_[device];
  int64_t result = 0;
  for (const AxisId axis : axes) {
    result = result * sub_axes_[axis].size +
             position / strides_[axis] % sub_axes_[axis].size;
  }
  return result;
}

std::vector<std::vector<int64_t>> Mesh::Groups(const AxisList& axes) const {
  AxisList others;
  for (const AxisId axis : AllSubAxes()) {
    if (!axes.Contains(axis)) others.push_back(axis);
  }
  std::vector<std::vector<int64_t>> groups(Size(others),
                                           std::vector<int64_t>(Size(axes)));
  for (int64_t device = 0; device < device_count_; ++device) {
    groups[Coordinate(device, others)][Coordinate(device, axes)] = device;
  }
  return groups;
}

std::string AxesToString(const AxisList& axes, const Mesh& mesh) {
  std::vector<std::string> names;
  for (size_t i = 0; i < axes.size();) {
    const SubAxis first = mesh.sub_axes()[axes[i]];
    int64_t size = first.size;
    size_t end = i + 1;
    for (; end < axes.size() && axes[end] == axes[end - 1] + 1 &&
           mesh.sub_axes()[axes[end]].axis == first.axis;
         ++end) {
      size *= mesh.sub_axes()[axes[end]].size;
    }
    const MeshAxis& axis = mesh.axes()[first.axis];
    names.push_back(size == axis.size ? axis.name
                                      : absl::StrCat(axis.name, ":(",
                                                     first.before, ")", size));
    i = end;
  }
  if (names.empty()) return "-";
  return names.size() == 1 ? names[0]
                           : absl::StrCat("(", absl::StrJoin(names, ","), ")");
}

bool Disjoint(const AxisList& a, const AxisList& b) {
  return (a.Bits() & b.Bits()) == 0;
}

}  // namespace meshwright
