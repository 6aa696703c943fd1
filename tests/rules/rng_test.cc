// Random numbers: the same on all devices as on one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/status/status.h"
#include "tests/rules/lowered.h"
#include "tests/rules/rule_oracle.h"

namespace meshwright {
namespace {

enum RngAlgorithm { kDefault = 0, kThreeFry = 1, kPhilox = 2 };
constexpr int32_t kUniform = 1;

TEST(RngBitGeneratorRule, BitsAreThoseOfOneDevice) {
  for (const RngAlgorithm algorithm : {kThreeFry, kPhilox}) {
    const OneOp op{.opcode = Opcode::kRngBitGenerator,
                   .operands = {algorithm == kPhilox ? "u64[3]" : "u64[2]"},
                   .set =
                       [=](Attributes& attributes) {
                         attributes.rng_algorithm = algorithm;
                       },
                   .result = algorithm == kPhilox ? "(u64[3], u32[6,5])"
                                                  : "(u64[2], u32[6,5])",
                   .draws = {{0, Integers(0, 1000000)}}};
    EXPECT_EQ(CheckRule(op, {.count = 5, .meshes = {"a=3,b=2"}}),
              absl::OkStatus());
  }
}

// Whatever is drawn from [5, 6) is 5; what is drawn twice is not the same.
TEST(RngRule, OneDeviceDrawsForAll) {
  const OneOp op{
      .opcode = Opcode::kRng,
      .operands = {"s32[]", "s32[]"},
      .set = [](Attributes& attributes) { attributes.distribution = kUniform; },
      .result = "s32[3,4]",
      .constants = {{0, 5.0}, {1, 6.0}}};
  const BuiltOp built = Build(op);
  const Rule rule = RuleFor(*built.instruction);
  EXPECT_FALSE(rule.is_fallback);
  for (const char* const name : {"4", "a=2,b=3"}) {
    const Mesh mesh = *Mesh::Parse(name);
    EXPECT_THAT(CollectivesOf(op, -1, 0, mesh),
                testing::ElementsAre("all-reduce s32[3,4]"));
  }
  EXPECT_EQ(CheckRule(op), absl::OkStatus());
}

}  // namespace
}  // namespace meshwright
