#include "meshwright/analysis/known_scalars.h"

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gtest/gtest.h"
#include "meshwright/hlo/read_text.h"

namespace meshwright {
namespace {

// Of the op that `text` is the right side of, with integers `a`, `b` and `c`.
std::optional<int64_t> ResultOf(const std::string& type,
                                const std::string& text,
                                std::vector<int64_t> operands) {
  std::string module =
      "HloModule m\n\nENTRY main {\n  p = pred[] parameter(3)\n";
  for (const char* const parameter :
       {"a = %[] parameter(0)", "b = %[] parameter(1)",
        "c = %[] parameter(2)"}) {
    absl::StrAppend(&module, "  ",
                    absl::StrReplaceAll(parameter, {{"%", type}}), "\n");
  }
  absl::StrAppend(&module, "  ROOT r = ", text, "\n}\n");
  const absl::StatusOr<Module> read = ReadModuleText(module);
  EXPECT_TRUE(read.ok()) << read.status() << module;
  return IntegerResult(*read->entry()->root(), operands);
}

TEST(IntegerResultTest, IsThatOfTheOp) {
  EXPECT_EQ(ResultOf("s32", "s32[] subtract(a, b)", {3, 5}), -2);
  EXPECT_EQ(ResultOf("s32", "s32[] multiply(a, b)", {3, -5}), -15);
  EXPECT_EQ(ResultOf("s32", "s32[] divide(a, b)", {-7, 2}), -3);
  EXPECT_EQ(ResultOf("s32", "s32[] remainder(a, b)", {-7, 2}), -1);
  EXPECT_EQ(ResultOf("s32", "s32[] minimum(a, b)", {-7, 2}), -7);
  EXPECT_EQ(ResultOf("s32", "s32[] clamp(a, b, c)", {0, 9, 4}), 4);
  EXPECT_EQ(ResultOf("s32", "s32[] sign(a)", {-4}), -1);
  EXPECT_EQ(ResultOf("s32", "s32[] not(a)", {0}), -1);
  EXPECT_EQ(ResultOf("s32", "pred[] compare(a, b), direction=GE", {4, 4}), 1);
  EXPECT_EQ(ResultOf("pred", "pred[] not(a)", {1}), 0);
  EXPECT_EQ(ResultOf("s32", "s32[] select(p, a, b)", {0, 5, 6}), 6);
}

TEST(IntegerResultTest, NothingWraps) {
  EXPECT_EQ(ResultOf("s8", "s8[] add(a, b)", {100, 27}), 127);
  EXPECT_EQ(ResultOf("s8", "s8[] add(a, b)", {100, 28}), std::nullopt);
  EXPECT_EQ(ResultOf("u32", "u32[] subtract(a, b)", {1, 2}), std::nullopt);
  EXPECT_EQ(ResultOf("u32", "u32[] not(a)", {1}), std::nullopt);
  EXPECT_EQ(ResultOf("s64", "s64[] negate(a)", {INT64_MIN}), std::nullopt);
  EXPECT_EQ(ResultOf("s64", "s64[] divide(a, b)", {INT64_MIN, -1}),
            std::nullopt);
  EXPECT_EQ(ResultOf("s64", "s8[] convert(a)", {200}), std::nullopt);
}

TEST(IntegerResultTest, IsNotThatOfOtherOps) {
  EXPECT_EQ(ResultOf("s32", "s32[] divide(a, b)", {1, 0}), std::nullopt);
  EXPECT_EQ(ResultOf("s32", "s32[] remainder(a, b)", {1, 0}), std::nullopt);
  EXPECT_EQ(ResultOf("s32", "s32[] power(a, b)", {2, 3}), std::nullopt);
  EXPECT_EQ(ResultOf("s32", "s32[4]{0} broadcast(a), dimensions={}", {2}),
            std::nullopt);
}

}  // namespace
}  // namespace meshwright
