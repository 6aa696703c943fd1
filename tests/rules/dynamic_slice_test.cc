// dynamic-slice and dynamic-update-slice, against running them whole.
#include <gtest/gtest.h>

#include "absl/status/status.h"
#include "tests/rules/random_gather.h"
#include "tests/rules/random_shapes.h"
#include "tests/rules/rule_oracle.h"

namespace meshwright {
namespace {

const CheckOptions kQuickSlices = {.count = 8,
                                   .meshes = {"a=2,b=2,c=2", "a=3,b=2"}};

// Takes each dimension whole, in part, or one element of it.
std::vector<int64_t> RandomSlice(Random& random,
                                 const std::vector<int64_t>& sizes) {
  std::vector<int64_t> slice;
  for (const int64_t size : sizes) {
    const uint64_t way = random() % 3;
    slice.push_back(way == 0   ? size
                    : way == 1 ? 1
                               : 1 + RandomBelow(random, size));
  }
  return slice;
}

void AddStarts(OneOp& op, ElementType type, size_t rank) {
  for (size_t i = 0; i < rank; ++i) {
    // Some are out of range.
    op.draws[static_cast<int32_t>(op.operands.size())] =
        IsSignedInteger(type) ? Integers(-3, 10) : Integers(0, 10);
    op.operands.push_back(ShapeText(type, {}));
  }
}

OneOp SliceOp(ElementType type, const std::vector<int64_t>& sizes,
              const std::vector<int64_t>& slice, ElementType index) {
  OneOp op{.opcode = Opcode::kDynamicSlice,
           .operands = {ShapeText(type, sizes)},
           .set = [slice](Attributes& a) { a.dynamic_slice_sizes = slice; },
           .result = ShapeText(type, slice)};
  AddStarts(op, index, sizes.size());
  return op;
}

OneOp UpdateOp(ElementType type, const std::vector<int64_t>& sizes,
               const std::vector<int64_t>& slice, ElementType index) {
  OneOp op{.opcode = Opcode::kDynamicUpdateSlice,
           .operands = {ShapeText(type, sizes), ShapeText(type, slice)},
           .result = ShapeText(type, sizes)};
  AddStarts(op, index, sizes.size());
  return op;
}

TEST(DynamicSliceRules, RandomSlices) {
  Random random(11);
  for (uint64_t round = 0; round < 12; ++round) {
    const std::vector<int64_t> sizes = RandomSizes(random, 1, 3);
    const OneOp op =
        SliceOp(kIndexedTypes[round % 4], sizes, RandomSlice(random, sizes),
                kIndexTypes[round / 4]);
    CheckOptions options = kQuickSlices;
    options.seed = round;
    EXPECT_EQ(CheckRule(op, options), absl::OkStatus());
  }
}

TEST(DynamicSliceRules, RandomUpdates) {
  Random random(12);
  for (uint64_t round = 0; round < 12; ++round) {
    const std::vector<int64_t> sizes = RandomSizes(random, 1, 3);
    const OneOp op =
        UpdateOp(kIndexedTypes[round % 4], sizes, RandomSlice(random, sizes),
                 kIndexTypes[round / 4]);
    CheckOptions options = kQuickSlices;
    options.seed = round;
    EXPECT_EQ(CheckRule(op, options), absl::OkStatus());
  }
}

// Every start, for slices larger and smaller than the blocks.
TEST(DynamicSliceRules, EveryStart) {
  for (const int64_t taken : {1, 3, 6}) {
    for (int64_t start = -1; start <= 8; start += 1) {
      for (const bool update : {false, true}) {
        OneOp op =
            update
                ? UpdateOp(ElementType::kF32, {7}, {taken}, ElementType::kS32)
                : SliceOp(ElementType::kF32, {7}, {taken}, ElementType::kS32);
        op.draws[update ? 2 : 1] = Integers(start, start);
        EXPECT_EQ(CheckRule(op, {.count = 2, .meshes = {"4"}}),
                  absl::OkStatus());
      }
    }
  }
}

TEST(DynamicSliceRules, OldFormsAreNotSplit) {
  EXPECT_EQ(CheckRule({.opcode = Opcode::kDynamicSlice,
                       .operands = {"f32[6,4]", "s32[2]"},
                       .set =
                           [](Attributes& a) {
                             a.dynamic_slice_sizes = {2, 4};
                           },
                       .result = "f32[2,4]",
                       .draws = {{1, Integers(0, 4)}}},
                      {.meshes = {"2"}, .fallback = true}),
            absl::OkStatus());
}

}  // namespace
}  // namespace meshwright
