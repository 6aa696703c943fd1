#include "meshwright/checkpoint/tensor_region.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace meshwright {

TensorRegion TensorRegion::Whole(absl::Span<const int64_t> dimensions) {
  return {.start = std::vector<int64_t>(dimensions.size(), 0),
          .limit = {dimensions.begin(), dimensions.end()}};
}

std::vector<int64_t> TensorRegion::dimensions() const {
  std::vector<int64_t> sizes(start.size());
  for (size_t d = 0; d < sizes.size(); ++d) sizes[d] = limit[d] - start[d];
  return sizes;
}

int64_t TensorRegion::element_count() const {
  int64_t count = 1;
  for (size_t d = 0; d < start.size(); ++d) count *= limit[d] - start[d];
  return count;
}

std::string TensorRegion::ToString() const {
  std::string text = "[";
  for (size_t d = 0; d < start.size(); ++d) {
    absl::StrAppend(&text, d == 0 ? "" : ",", start[d], ":", limit[d]);
  }
  return text + "]";
}

std::optional<TensorRegion> Intersect(const TensorRegion& a,
                                      const TensorRegion& b) {
  TensorRegion both = a;
  for (size_t d = 0; d < a.start.size(); ++d) {
    both.start[d] = std::max(a.start[d], b.start[d]);
    both.limit[d] = std::min(a.limit[d], b.limit[d]);
    if (both.start[d] >= both.limit[d]) return std::nullopt;
  }
  return both;
}

BoxRuns::BoxRuns(absl::Span<const int64_t> box, const BoxInArray& from,
                 const BoxInArray& to, int64_t element_bytes) {
  first_.bytes = element_bytes;
  int64_t from_stride = element_bytes;
  int64_t to_stride = element_bytes;
  bool is_together = true;  // All minor dimensions form one run.
  for (size_t d = box.size(); d-- > 0;) {
    first_.from += from.start[d] * from_stride;
    first_.to += to.start[d] * to_stride;
    if (is_together) {
      first_.bytes *= box[d];
      is_together = box[d] == from.dimensions[d] && box[d] == to.dimensions[d];
    } else if (box[d] > 1) {
      dims_.push_back({box[d], from_stride, to_stride});
      count_ *= box[d];
    }
    from_stride *= from.dimensions[d];
    to_stride *= to.dimensions[d];
  }
  std::ranges::reverse(dims_);
}

BoxRuns::Run BoxRuns::at(int64_t index) const {
  Run run = first_;
  for (size_t d = dims_.size(); d-- > 0;) {
    const int64_t i = index % dims_[d].size;
    index /= dims_[d].size;
    run.from += i * dims_[d].from_stride;
    run.to += i * dims_[d].to_stride;
  }
  return run;
}

int64_t BoxRuns::FirstAfter(int64_t offset) const {
  int64_t low = 0;
  int64_t high = count_;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (at(middle).from + first_.bytes > offset) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

}  // namespace meshwright
