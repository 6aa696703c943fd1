#include "meshwright/wire/gloo_goodbye.h"

#include <algorithm>
#include <cstring>

namespace meshwright::internal {

Goodbye::Goodbye(const absl::Status& status) {
  const absl::string_view text = status.message();
  const auto length =
      static_cast<uint16_t>(std::min(text.size(), bytes_.size() - 3));
  bytes_[0] = static_cast<std::byte>(status.code());
  std::memcpy(&bytes_[1], &length, sizeof(length));
  if (length > 0) std::memcpy(&bytes_[3], text.data(), length);
}

absl::Status Goodbye::status() const {
  uint16_t length = 0;
  std::memcpy(&length, &bytes_[1], sizeof(length));
  const size_t known = std::min<size_t>(length, bytes_.size() - 3);
  return absl::Status(
      static_cast<absl::StatusCode>(bytes_[0]),
      absl::string_view(reinterpret_cast<const char*>(&bytes_[3]), known));
}

}  // namespace meshwright::internal
