#include "meshwright/hlo/fold_transposes.h"

#include <string>

#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/hlo/print_module.h"
#include "meshwright/hlo/read_text.h"
#include "meshwright/hlo/verify.h"

namespace meshwright {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string Folded(const std::string& text) {
  absl::StatusOr<Module> module = ReadModuleText(text);
  EXPECT_TRUE(module.ok()) << module.status();
  EXPECT_TRUE(Verify(*module).ok()) << Verify(*module);
  FoldTransposes(*module);
  EXPECT_TRUE(Verify(*module).ok()) << Verify(*module);
  return ToString(*module);
}

// The gradient of a weight of two experts, as jax writes it.
constexpr char kGradient[] = R"(HloModule m
ENTRY main {
  g = f32[2,8,16] parameter(0)
  x = f32[2,8,4,3] parameter(1)
  dot = f32[2,16,4,3] dot(g, x), lhs_batch_dims={0}, lhs_contracting_dims={1}, rhs_batch_dims={0}, rhs_contracting_dims={1}, operand_precision={default,highest}
  w = f32[2,4,3,16] transpose(dot), dimensions={0,2,3,1}
  ROOT y = f32[2,4,3,16] negate(w)
})";

TEST(FoldTransposesTest, OfAGradient) {
  EXPECT_THAT(
      Folded(kGradient),
      AllOf(HasSubstr("f32[2,4,3,16]{3,2,1,0} dot(x, g), lhs_batch_dims={0}, "
                      "lhs_contracting_dims={1}, rhs_batch_dims={0}, "
                      "rhs_contracting_dims={1}"),
            HasSubstr("operand_precision={highest,default}"),
            HasSubstr("negate(dot)"), Not(HasSubstr("transpose("))));
}

TEST(FoldTransposesTest, OfTheRoot) {
  EXPECT_THAT(Folded(absl::StrReplaceAll(kGradient,
                                         {{"  w = ", "  ROOT w = "},
                                          {"  ROOT y = f32[2,4,3,16] negate(w)",
                                           "  y = f32[] constant(0)"}})),
              AllOf(HasSubstr("ROOT dot = "), Not(HasSubstr("transpose("))));
}

TEST(FoldTransposesTest, OnlyWhatExchangesOperands) {
  EXPECT_THAT(
      Folded(absl::StrReplaceAll(kGradient, {{"[2,4,3,16]", "[2,3,4,16]"},
                                             {"{0,2,3,1}", "{0,3,2,1}"}})),
      HasSubstr("transpose(dot)"));
}

TEST(FoldTransposesTest, NotWhatOthersUse) {
  EXPECT_THAT(Folded(absl::StrReplaceAll(
                  kGradient, {{"  ROOT y = f32[2,4,3,16] negate(w)",
                               "  ROOT y = (f32[2,4,3,16], f32[2,16,4,3]) "
                               "tuple(w, dot)"}})),
              HasSubstr("transpose(dot)"));
}

TEST(FoldTransposesTest, NotWhatIsAnnotated) {
  EXPECT_THAT(
      Folded(absl::StrReplaceAll(
          kGradient, {{"dimensions={0,2,3,1}",
                       "dimensions={0,2,3,1}, sharding={replicated}"}})),
      HasSubstr("transpose(dot)"));
}

}  // namespace
}  // namespace meshwright
