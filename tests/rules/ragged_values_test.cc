// ragged-dot in blocks of rows gives what its definition says.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "meshwright/hlo/ragged_dot_numbers.h"
#include "tests/rules/ragged_op.h"
#include "tests/rules/rule_oracle.h"

namespace meshwright {
namespace {

using Index = std::vector<int64_t>;

int64_t At(const Shape& shape, const Index& index) {
  int64_t at = 0;
  for (int64_t i = 0; i < shape.rank(); ++i) {
    at = at * shape.dimensions[i] + index[i];
  }
  return at;
}

// Calls with every index of an array.
template <typename Function>
void ForEach(const Index& sizes, Function&& function) {
  Index index(sizes.size(), 0);
  const int64_t count = std::accumulate(sizes.begin(), sizes.end(), int64_t{1},
                                        std::multiplies<>());
  for (int64_t i = 0; i < count; ++i) {
    function(index);
    for (size_t d = sizes.size(); d-- > 0;) {
      if (++index[d] < sizes[d]) break;
      index[d] = 0;
    }
  }
}

// By definition, element by element.
std::vector<double> ByDefinition(const BuiltOp& op, const Values& inputs) {
  const RaggedDotNumbers numbers = *RaggedDotNumbersOf(*op.instruction);
  const Shape& lhs = op.operand_leaves[0];
  const Shape& rhs = op.operand_leaves[1];
  const Shape& sizes = op.operand_leaves[2];
  const Shape& result = op.result_leaves[0];
  const bool by_group = numbers.kind == RaggedDotNumbers::Ragged::kContracted;
  std::vector<double> values(ElementCount(result), 0);
  Index free;
  for (const int64_t i : numbers.rhs_free) free.push_back(rhs.dimensions[i]);
  ForEach(lhs.dimensions, [&](const Index& left) {
    Index of_sizes;
    for (const int64_t outer : numbers.outer) of_sizes.push_back(left[outer]);
    of_sizes.push_back(0);
    int64_t group = 0;
    int64_t end = 0;
    for (; group < sizes.dimensions.back(); ++group) {
      of_sizes.back() = group;
      end += inputs[2].ElementAsInteger(At(sizes, of_sizes));
      if (left[numbers.ragged] < end) break;
    }
    if (group == sizes.dimensions.back()) return;
    ForEach(free, [&](const Index& right_free) {
      Index right(rhs.rank(), 0);
      Index to;
      if (by_group) to.push_back(group);
      for (size_t i = 0; i < numbers.dot.lhs_batch.size(); ++i) {
        right[numbers.dot.rhs_batch[i]] = left[numbers.dot.lhs_batch[i]];
        to.push_back(left[numbers.dot.lhs_batch[i]]);
      }
      for (size_t i = 0; i < numbers.dot.lhs_contracting.size(); ++i) {
        right[numbers.dot.rhs_contracting[i]] =
            left[numbers.dot.lhs_contracting[i]];
      }
      for (const int64_t i : numbers.lhs_free) to.push_back(left[i]);
      for (size_t i = 0; i < free.size(); ++i) {
        right[numbers.rhs_free[i]] = right_free[i];
        to.push_back(right_free[i]);
      }
      if (numbers.rhs_group >= 0) right[numbers.rhs_group] = group;
      values[At(result, to)] += inputs[0].ElementAsDouble(At(lhs, left)) *
                                inputs[1].ElementAsDouble(At(rhs, right));
    });
  });
  return values;
}

// Small integers: sums are exact in any order.
void ExpectByDefinition(OneOp op, const std::vector<double>& sizes = {}) {
  if (!sizes.empty()) {
    op.draws[2] = [sizes, i = size_t{0}](Random&) mutable {
      return sizes[i++ % sizes.size()];
    };
  }
  const BuiltOp built = Build(std::move(op));
  Random random(7);
  const Values inputs = DrawInputs(built, random);
  const absl::StatusOr<Values> found = RunWhole(built, inputs);
  ASSERT_TRUE(found.ok()) << found.status();
  const std::vector<double> wanted = ByDefinition(built, inputs);
  for (size_t i = 0; i < wanted.size(); ++i) {
    const double element =
        (*found)[0].ElementAsDouble(static_cast<int64_t>(i));
    if (!std::isfinite(wanted[i])) {
      ASSERT_FALSE(std::isfinite(element)) << "element " << i;
    } else {
      ASSERT_EQ(element, wanted[i]) << "element " << i;
    }
  }
}

OneOp Rows(const std::string& type, int64_t rows, int64_t groups) {
  return RaggedDot({absl::StrCat(type, "[", rows, ",3]"),
                    absl::StrCat(type, "[", groups, ",3,2]"),
                    absl::StrCat("s32[", groups, "]")},
                   {.lhs_contracting = {1},
                    .rhs_contracting = {1},
                    .ragged = {0},
                    .group = {0}},
                   absl::StrCat(type, "[", rows, ",2]"));
}

OneOp Products(const std::string& type, int64_t rows, int64_t groups) {
  return RaggedDot(
      {absl::StrCat(type, "[", rows, ",3]"),
       absl::StrCat(type, "[", rows, ",2]"), absl::StrCat("s32[", groups, "]")},
      {.lhs_contracting = {0}, .rhs_contracting = {0}, .ragged = {0}},
      absl::StrCat(type, "[", groups, ",3,2]"));
}

// What is not finite in a row of one group is nothing of another.
TEST(RaggedDotValues, NanStaysInItsGroup) {
  for (const int operand : {0, 1}) {
    for (OneOp op : {Products("f32", 3000, 4), Products("bf16", 300, 4),
                     Rows("f32", 300, 4)}) {
      if (operand == 1) op.draws[0] = Integers(1, 2);
      op.draws[operand] = [i = 0](Random& random) mutable {
        return i++ == 7 ? std::nan("") : Integers(-2, 2)(random);
      };
      ExpectByDefinition(op, {70, 80, 60, 90});
    }
  }
}

// 3000 rows: blocks of 1024, of 2048 for products.
TEST(RaggedDotValues, SeveralBlocksOfAGroup) {
  for (const std::vector<double>& sizes :
       {std::vector<double>{700, 800, 600, 900},
        {0, 3000, 0, 0},
        {1, 1, 2997, 1},
        {0, 0, 0, 0},
        {1024, 1024, 952, 0},
        {5, 0, 1500, 40},
        {0, 0, 0, 3000}}) {
    ExpectByDefinition(Rows("f32", 3000, 4), sizes);
    ExpectByDefinition(Products("f32", 3000, 4), sizes);
  }
}

TEST(RaggedDotValues, FewRowsManyGroupsAndOne) {
  ExpectByDefinition(Rows("f32", 5, 7), {1, 0, 1, 0, 2, 0, 1});
  ExpectByDefinition(Products("f32", 5, 7), {1, 0, 1, 0, 2, 0, 1});
  ExpectByDefinition(Rows("f32", 40, 1), {33});
  ExpectByDefinition(Products("f32", 40, 1), {33});
}

// Sizes that add up to more than there are rows, the last of which are cut off.
TEST(RaggedDotValues, MoreThanAllRows) {
  ExpectByDefinition(Rows("f32", 10, 3), {6, 7, 2});
  ExpectByDefinition(Products("f32", 10, 3), {6, 7, 2});
}

// Sums of one group in several blocks are rounded once.
TEST(RaggedDotValues, OtherTypes) {
  for (const char* type : {"bf16", "f16", "f64", "s32"}) {
    OneOp rows = Rows(type, 3000, 4);
    OneOp products = Products(type, 300, 4);
    ExpectByDefinition(rows, {700, 800, 600, 900});
    products.draws[0] = products.draws[1] = Integers(0, 1);
    ExpectByDefinition(products, {70, 80, 60, 90});
  }
}

// Groups of their own along a batch and a free dimension, matrices by batch.
TEST(RaggedDotValues, OuterDimensions) {
  ExpectByDefinition(RaggedDot({"f32[2,3,6,5]", "f32[5,4,2,3]", "s32[2,3,4]"},
                               {.lhs_contracting = {3},
                                .rhs_contracting = {0},
                                .lhs_batch = {0},
                                .rhs_batch = {2},
                                .ragged = {2},
                                .group = {1}},
                               "f32[2,3,6,3]", 2));
  ExpectByDefinition(RaggedDot({"f32[2,3,6,5]", "f32[6,3,7,2]", "s32[2,3,4]"},
                               {.lhs_contracting = {1, 2},
                                .rhs_contracting = {1, 0},
                                .lhs_batch = {0},
                                .rhs_batch = {3},
                                .ragged = {2}},
                               "f32[4,2,5,7]", 2));
}

// A batch whose elements share the groups, and the ragged dimension after
// another free one.
TEST(RaggedDotValues, BatchesThatShareGroups) {
  ExpectByDefinition(RaggedDot({"f32[3,6,2,5]", "f32[5,4,2,3]", "s32[4]"},
                               {.lhs_contracting = {3},
                                .rhs_contracting = {0},
                                .lhs_batch = {2},
                                .rhs_batch = {2},
                                .ragged = {1},
                                .group = {1}},
                               "f32[2,3,6,3]", 2));
  ExpectByDefinition(RaggedDot({"f32[2,6,5]", "f32[6,2,7]", "s32[4]"},
                               {.lhs_contracting = {1},
                                .rhs_contracting = {0},
                                .lhs_batch = {0},
                                .rhs_batch = {1},
                                .ragged = {1}},
                               "f32[4,2,5,7]", 2));
}

}  // namespace
}  // namespace meshwright
