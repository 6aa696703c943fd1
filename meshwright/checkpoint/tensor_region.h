// Boxes of a tensor's elements, and copying them between arrays.
//
//   {.start = {2, 0}, .limit = {4, 6}}   rows 2 and 3 of six columns
#ifndef MESHWRIGHT_CHECKPOINT_TENSOR_REGION_H_
#define MESHWRIGHT_CHECKPOINT_TENSOR_REGION_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"

namespace meshwright {

struct TensorRegion {
  std::vector<int64_t> start = {};
  std::vector<int64_t> limit = {};  // Exclusive.

  static TensorRegion Whole(absl::Span<const int64_t> dimensions);

  std::vector<int64_t> dimensions() const;
  int64_t element_count() const;
  std::string ToString() const;  // "[2:4,0:6]"

  bool operator==(const TensorRegion&) const = default;
};

// The intersection; nullopt if it is empty. Requires: the same rank.
std::optional<TensorRegion> Intersect(const TensorRegion& a,
                                      const TensorRegion& b);

// The position of a box in a larger row-major array.
struct BoxInArray {
  std::vector<int64_t> dimensions;  // Of the array.
  std::vector<int64_t> start;       // Of the box, in it.
};

// The maximal runs of bytes that are contiguous in both of two row-major arrays
// that contain a box, in the order of the first array.
//
//   BoxRuns runs({2, 3}, {{2, 3}, {0, 0}}, {{4, 6}, {2, 0}}, 4);
//   // f32[2,3] in an f32[4,6]: 0 -> 48 and 12 -> 72, 12 bytes each
class BoxRuns {
 public:
  struct Run {
    int64_t from = 0;  // Offsets in bytes.
    int64_t to = 0;
    int64_t bytes = 0;
  };

  // Requires: the box is not empty, and is inside both arrays.
  BoxRuns(absl::Span<const int64_t> box, const BoxInArray& from,
          const BoxInArray& to, int64_t element_bytes);

  int64_t count() const { return count_; }
  // The first run that ends after byte `offset` of the first array; count() if
  // there is none.
  int64_t FirstAfter(int64_t offset) const;
  // Calls use(run) for runs first, first + 1, ... until it returns false.
  template <typename Use>
  void ForEach(int64_t first, const Use& use) const;

  Run at(int64_t index) const;

 private:
  struct Dim {
    int64_t size = 1;
    int64_t from_stride = 0;
    int64_t to_stride = 0;
  };

  // The dimensions over which runs repeat; major first.
  std::vector<Dim> dims_;
  Run first_;
  int64_t count_ = 1;
};

template <typename Use>
void BoxRuns::ForEach(int64_t first, const Use& use) const {
  if (first >= count_) return;
  std::vector<int64_t> index(dims_.size());
  int64_t rest = first;
  for (size_t d = dims_.size(); d-- > 0;) {
    index[d] = rest % dims_[d].size;
    rest /= dims_[d].size;
  }
  Run run = at(first);
  while (use(run)) {
    size_t d = dims_.size();
    while (true) {
      if (d-- == 0) return;
      run.from += dims_[d].from_stride;
      run.to += dims_[d].to_stride;
      if (++index[d] < dims_[d].size) break;
      run.from -= dims_[d].from_stride * dims_[d].size;
      run.to -= dims_[d].to_stride * dims_[d].size;
      index[d] = 0;
    }
  }
}

}  // namespace meshwright

#endif  // MESHWRIGHT_CHECKPOINT_TENSOR_REGION_H_
