// The value of a StatusOr, or the end of the test.
#ifndef MESHWRIGHT_TESTS_PIPELINE_VALUE_OF_H_
#define MESHWRIGHT_TESTS_PIPELINE_VALUE_OF_H_

#include <cstdlib>
#include <utility>

#include "absl/status/statusor.h"
#include "gtest/gtest.h"

namespace meshwright {

template <typename T>
T ValueOf(absl::StatusOr<T> value) {
  EXPECT_TRUE(value.ok()) << value.status();
  if (!value.ok()) std::abort();
  return *std::move(value);
}

}  // namespace meshwright

#endif  // MESHWRIGHT_TESTS_PIPELINE_VALUE_OF_H_
