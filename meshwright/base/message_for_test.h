// Test support: the text of an error.
#ifndef MESHWRIGHT_BASE_MESSAGE_FOR_TEST_H_
#define MESHWRIGHT_BASE_MESSAGE_FOR_TEST_H_

#include <string>

#include "absl/status/status.h"

namespace meshwright {

inline std::string MessageOf(const absl::Status& status) {
  return std::string(status.message());
}

}  // namespace meshwright

#endif  // MESHWRIGHT_BASE_MESSAGE_FOR_TEST_H_
