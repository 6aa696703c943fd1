// Test support: what is said of what is refused.
#ifndef MESHWRIGHT_DATA_WHY_NOT_FOR_TEST_H_
#define MESHWRIGHT_DATA_WHY_NOT_FOR_TEST_H_

#include <gtest/gtest.h>

#include <string>

#include "absl/status/status.h"

namespace meshwright {

inline std::string WhyNot(
    const absl::Status& status,
    absl::StatusCode code = absl::StatusCode::kInvalidArgument) {
  EXPECT_EQ(status.code(), code) << status;
  return std::string(status.message());
}

}  // namespace meshwright

#endif  // MESHWRIGHT_DATA_WHY_NOT_FOR_TEST_H_
