// The last message of a worker to another: that it leaves, or why it failed.
//
//   left             {}
//   failed           {kUnavailable, "host-1 (worker 0) is gone: ..."}
#ifndef MESHWRIGHT_WIRE_GLOO_GOODBYE_H_
#define MESHWRIGHT_WIRE_GLOO_GOODBYE_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace meshwright::internal {

// In its encoded form.
class Goodbye {
 public:
  Goodbye() = default;
  // OK: the worker leaves in an orderly way.
  explicit Goodbye(const absl::Status& status);

  absl::Status status() const;
  absl::Span<std::byte> bytes() { return absl::MakeSpan(bytes_); }
  absl::Span<const std::byte> bytes() const { return bytes_; }

 private:
  // A byte for the code, two for the length of the text, the text.
  std::array<std::byte, 1024> bytes_ = {};
};

}  // namespace meshwright::internal

#endif  // MESHWRIGHT_WIRE_GLOO_GOODBYE_H_
