// Instructions that arrange elements anew, against running them whole.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "absl/status/status.h"
#include "tests/rules/random_shapes.h"
#include "tests/rules/rule_oracle.h"

namespace meshwright {
namespace {

TEST(LayoutRules, RandomTransposes) {
  Random random(7);
  for (int round = 0; round < 6; ++round) {
    const std::vector<int64_t> from = RandomSizes(random, 2, 4);
    std::vector<int64_t> permutation(from.size());
    std::iota(permutation.begin(), permutation.end(), 0);
    std::shuffle(permutation.begin(), permutation.end(), random);
    EXPECT_EQ(
        CheckRule({.opcode = Opcode::kTranspose,
                   .operands = {ShapeText(ElementType::kF32, from)},
                   .set = [&](Attributes& a) { a.dimensions = permutation; }},
                  kQuick),
        absl::OkStatus());
  }
}

TEST(LayoutRules, RandomBroadcasts) {
  Random random(8);
  for (int round = 0; round < 6; ++round) {
    const std::vector<int64_t> to = RandomSizes(random, 1, 4);
    std::vector<int64_t> from;
    std::vector<int64_t> mapping;
    for (size_t i = 0; i < to.size(); ++i) {
      if (random() % 2 == 0) continue;
      from.push_back(to[i]);
      mapping.push_back(static_cast<int64_t>(i));
    }
    EXPECT_EQ(CheckRule({.opcode = Opcode::kBroadcast,
                         .operands = {ShapeText(ElementType::kS32, from)},
                         .set = [&](Attributes& a) { a.dimensions = mapping; },
                         .result = ShapeText(ElementType::kS32, to)},
                        kQuick),
              absl::OkStatus());
  }
}

void CheckReshape(const std::vector<int64_t>& from,
                  const std::vector<int64_t>& to) {
  EXPECT_EQ(CheckRule({.opcode = Opcode::kReshape,
                       .operands = {ShapeText(ElementType::kF32, from)},
                       .result = ShapeText(ElementType::kF32, to)},
                      kQuick),
            absl::OkStatus());
}

TEST(LayoutRules, Reshapes) {
  CheckReshape({6, 4}, {3, 8});
  CheckReshape({5, 6}, {5, 2, 3});  // The 5 may be padded.
  CheckReshape({1, 12, 1}, {3, 1, 4});
  CheckReshape({6, 2}, {4, 3});
  CheckReshape({16, 3}, {4, 4, 3});
  CheckReshape({24}, {2, 3, 4});
}

TEST(LayoutRules, RandomReshapes) {
  Random random(9);
  for (int round = 0; round < 12; ++round) {
    // The same prime factors, grouped in two ways.
    std::vector<int64_t> primes;
    for (uint64_t i = 0; i < 3 + random() % 3; ++i) {
      primes.push_back(random() % 3 == 0 ? 3 : 2);
    }
    const auto grouped = [&] {
      std::vector<int64_t> sizes = {1};
      for (const int64_t prime : primes) {
        if (random() % 2 == 0) sizes.push_back(1);
        sizes.back() *= prime;
      }
      return sizes;
    };
    const std::vector<int64_t> from = grouped();
    if (random() % 2 == 0) std::shuffle(primes.begin(), primes.end(), random);
    CheckReshape(from, grouped());
  }
}

TEST(LayoutRules, BitcastConvert) {
  EXPECT_EQ(CheckRule({.opcode = Opcode::kBitcastConvert,
                       .operands = {"f32[5,4]"},
                       .result = "s32[5,4]"},
                      kQuick),
            absl::OkStatus());
  EXPECT_EQ(CheckRule({.opcode = Opcode::kBitcastConvert,
                       .operands = {"u32[5,4]"},
                       .result = "u16[5,4,2]"},
                      kQuick),
            absl::OkStatus());
  EXPECT_EQ(CheckRule({.opcode = Opcode::kBitcastConvert,
                       .operands = {"u8[5,4]"},
                       .result = "u32[5]"},
                      kQuick),
            absl::OkStatus());
}

}  // namespace
}  // namespace meshwright
