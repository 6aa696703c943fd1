// A one-line error about an invalid input.
//
//   return Bad("axis ", name, " has size ", size);
#ifndef MESHWRIGHT_BASE_BAD_H_
#define MESHWRIGHT_BASE_BAD_H_

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace meshwright {

// kInvalidArgument with the parts joined.
template <typename... Parts>
absl::Status Bad(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat(parts...));
}

}  // namespace meshwright

#endif  // MESHWRIGHT_BASE_BAD_H_
