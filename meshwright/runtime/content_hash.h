// A content hash: equal only for equal bytes.
#ifndef MESHWRIGHT_RUNTIME_CONTENT_HASH_H_
#define MESHWRIGHT_RUNTIME_CONTENT_HASH_H_

#include <string>

#include "absl/strings/string_view.h"

namespace meshwright {

// SHA-256, in hexadecimal digits.
std::string ContentHash(absl::string_view bytes);

}  // namespace meshwright

#endif  // MESHWRIGHT_RUNTIME_CONTENT_HASH_H_
