#include "meshwright/cli/host_memory.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace meshwright {
namespace {

TEST(HostMemoryTest, WhatDoesNotFitIsSaidInNumbers) {
  EXPECT_TRUE(CheckFits(1 << 20, "the parameters take").ok());
  const absl::Status status =
      CheckFits(int64_t{1} << 60, "4 stages times 9 micro-batches take");
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()),
              testing::MatchesRegex("4 stages times 9 micro-batches take 1.* "
                                    ".iB, this machine has .* .iB"));
}

}  // namespace
}  // namespace meshwright
