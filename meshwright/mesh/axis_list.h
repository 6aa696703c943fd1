// A short ordered list of mesh sub-axes, major first. A plain value of fixed
// size: a mesh has at most 20 sub-axes (Mesh::Create).
#ifndef MESHWRIGHT_MESH_AXIS_LIST_H_
#define MESHWRIGHT_MESH_AXIS_LIST_H_

#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <utility>

namespace meshwright {

// A prime sub-axis: an index into Mesh::sub_axes().
using AxisId = int8_t;

class AxisList {
 public:
  using value_type = AxisId;
  using const_iterator = const AxisId*;

  static constexpr size_t kCapacity = 23;

  AxisList() = default;
  AxisList(std::initializer_list<AxisId> axes)
      : AxisList(axes.begin(), axes.end()) {}
  template <typename Iterator>
  AxisList(Iterator begin, Iterator end) {
    for (; begin != end; ++begin) push_back(*begin);
  }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const AxisId* data() const { return ids_.data(); }
  AxisId* begin() { return ids_.data(); }
  AxisId* end() { return ids_.data() + size_; }
  const AxisId* begin() const { return ids_.data(); }
  const AxisId* end() const { return ids_.data() + size_; }
  AxisId operator[](size_t index) const { return ids_[index]; }
  AxisId front() const { return ids_[0]; }
  AxisId back() const { return ids_[size_ - 1]; }

  void push_back(AxisId axis) { ids_[size_++] = axis; }
  void pop_back() { ids_[--size_] = 0; }
  void clear() { *this = AxisList(); }
  void Append(const AxisList& other) {
    for (const AxisId axis : other) push_back(axis);
  }
  bool Contains(AxisId axis) const {
    return std::find(begin(), end(), axis) != end();
  }
  // As a set: bit i for sub-axis i.
  uint32_t Bits() const {
    uint32_t bits = 0;
    for (const AxisId axis : *this) bits |= uint32_t{1} << axis;
    return bits;
  }

  auto operator<=>(const AxisList&) const = default;
  template <typename H>
  friend H AbslHashValue(H h, const AxisList& list) {
    return H::combine_contiguous(std::move(h), list.data(), list.size());
  }

 private:
  std::array<AxisId, kCapacity> ids_ = {};  // Zero beyond the end.
  uint8_t size_ = 0;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_MESH_AXIS_LIST_H_
