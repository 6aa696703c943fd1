// The version of this program: "0.5.0".
#ifndef MESHWRIGHT_BASE_VERSION_H_
#define MESHWRIGHT_BASE_VERSION_H_

#include "absl/strings/string_view.h"

namespace meshwright {

absl::string_view Version();

}  // namespace meshwright

#endif  // MESHWRIGHT_BASE_VERSION_H_
