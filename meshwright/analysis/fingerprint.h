// A hash that is the same in every process.
#ifndef MESHWRIGHT_ANALYSIS_FINGERPRINT_H_
#define MESHWRIGHT_ANALYSIS_FINGERPRINT_H_

#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"
#include "meshwright/hlo/shape.h"

namespace meshwright {

class Fingerprint {
 public:
  Fingerprint& Add(uint64_t value) {
    state_ ^= value + 0x9e3779b97f4a7c15 + (state_ << 6) + (state_ >> 2);
    state_ *= 0xff51afd7ed558ccd;
    state_ ^= state_ >> 32;
    return *this;
  }
  Fingerprint& Add(const std::vector<int64_t>& values) {
    Add(values.size());
    for (const int64_t value : values) Add(static_cast<uint64_t>(value));
    return *this;
  }
  Fingerprint& Add(const Shape& shape) {
    Add(static_cast<uint64_t>(shape.element_type));
    return Add(shape.dimensions);
  }
  Fingerprint& Add(absl::string_view text) {
    Add(text.size());
    for (const char c : text) Add(static_cast<uint64_t>(c));
    return *this;
  }
  uint64_t value() const { return state_; }

 private:
  uint64_t state_ = 0x84222325cbf29ce4;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_ANALYSIS_FINGERPRINT_H_
