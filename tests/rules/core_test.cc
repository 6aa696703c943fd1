// The rules of everyday instructions, against running them whole.
#include <gtest/gtest.h>

#include "absl/status/status.h"
#include "tests/rules/rule_oracle.h"

namespace meshwright {
namespace {

TEST(CoreRules, Dot) {
  const OneOp op{.opcode = Opcode::kDot,
                 .operands = {"f32[6,5]", "f32[5,8]"},
                 .set = [](Attributes& a) {
                   a.dot = {{1}, {0}};
                 }};
  EXPECT_EQ(CheckRule(op), absl::OkStatus());
}

}  // namespace
}  // namespace meshwright
